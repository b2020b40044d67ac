"""A step as a child process that may not start a JVM."""

from collections.abc import Callable, Mapping, Sequence

from tidemill.contract.log import Log
from tidemill.contract.report import Report, Step
from tidemill.spec.pipeline import Pipeline
from tidemill_airflow.operators.command import launched_by_this_task
from tidemill_airflow.operators.outcome import ReportWatch
from tidemill_airflow.operators.processes import StepProcess
from tidemill_airflow.operators.step_environment import step_environment
from tidemill_airflow.settings import variables_for_steps

StepCommand = Callable[[Step, Sequence[str], str], Sequence[str]]


class ChildStep:
    """One step of one run.

    Args:
        pipelines: One, or several where the step takes several.
        run_id: Airflow's.
        secrets: Its connections, as `connection_variables` gives them.
        command: Gives the command line for step, pipelines' names and run id.
        log: Gets each line of its output.
    """

    def __init__(
        self,
        step: Step,
        pipelines: Sequence[Pipeline],
        run_id: str,
        *,
        secrets: Mapping[str, str],
        command: StepCommand,
        log: Log,
    ) -> None:
        self._watch = ReportWatch(pipelines[0].layout.run(run_id), step)
        environ = variables_for_steps()
        self._process = StepProcess(
            command(step, [pipeline.name for pipeline in pipelines], run_id),
            {
                **step_environment([pipeline.spec for pipeline in pipelines], environ),
                **launched_by_this_task(environ),
                **secrets,
            },
            log,
        )

    def run(self) -> tuple[Report | None, int]:
        """Follow it to its end; the report that it left, if it did, and its exit code.

        The report is that of the first pipeline.
        """
        exit_code = self._process.run()
        return self._watch.report(), exit_code

    def kill(self) -> None:
        self._process.kill()
