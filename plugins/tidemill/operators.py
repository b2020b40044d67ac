"""The operators of doctor and publish, which are child processes of their tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import BaseOperator

from spark_jobs.contract.errors import TidemillError
from spark_jobs.contract.pipeline import Pipeline, open_pipeline
from spark_jobs.contract.report import Outcome, Report, Step
from tidemill.child_step import ChildStep, StepCommand
from tidemill.command import step_command
from tidemill.connections import connection_variables
from tidemill.events import announce, emit
from tidemill.outcome import as_airflow, conclude

if TYPE_CHECKING:
    from airflow.sdk import Context


class ChildStepOperator(BaseOperator):
    """Runs one step and ends as its report says.

    Args:
        pipeline: The name of the pipeline.
    """

    # A run's conf and params can reach no command line and no variable (failure-modes B3.1).
    template_fields: Sequence[str] = ()
    step: ClassVar[Step]

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline
        self.command: StepCommand = step_command
        self._child: ChildStep | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        run_id = context["run_id"]
        try:
            pipeline = open_pipeline(self.pipeline)
            self._child = ChildStep(
                self.step,
                pipeline,
                run_id,
                secrets=connection_variables(pipeline.spec),
                command=self.command,
                say=self.log.info,
            )
            report, exit_code = self._child.run()
        except TidemillError as error:
            raise as_airflow(error) from error
        return self.settle(pipeline, context, report, exit_code)

    def settle(
        self, pipeline: Pipeline, context: Context, report: Report | None, exit_code: int
    ) -> dict[str, Any]:
        """End the task as the report says; its result."""
        return conclude(self.step, report, exit_code)

    def on_kill(self) -> None:
        if self._child is not None:
            self._child.kill()


class DoctorOperator(ChildStepOperator):
    """Skips a run with nothing to do, and fails one that would lose rows in silence."""

    step: ClassVar[Step] = "doctor"


class PublishOperator(ChildStepOperator):
    """Makes what passed visible, and tells consumers of each increment that went out."""

    step: ClassVar[Step] = "publish"

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.emitted: tuple[int, ...] = ()

    def settle(
        self, pipeline: Pipeline, context: Context, report: Report | None, exit_code: int
    ) -> dict[str, Any]:
        if report is not None and report.outcome in (Outcome.DONE, Outcome.WAITING):
            self.emitted = emit(pipeline, context)
            if self.emitted:
                # Also where this run's own increment waits and others went out: Airflow drops the
                # events of a skipped task.
                return {"outcome": str(report.outcome), "reason": report.reason}
        return super().settle(pipeline, context, report, exit_code)


def announce_emitted(context: Context) -> None:
    """Note which events Airflow has: a success callback, which runs once it has stored them.

    After a crash in between they are sent again; noted any earlier, they would be lost.
    """
    task = context["task"]
    if isinstance(task, PublishOperator):
        announce(open_pipeline(task.pipeline), task.emitted)
