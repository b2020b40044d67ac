"""`tidemill doctor`: what the first step of a run would say now, of one pipeline or of all."""

from functools import partial
from typing import Annotated

from typer import Argument, Exit, Option

from tidemill.cli.completion import pipelines
from tidemill.cli.fail_on import FailOn, exit_code, states_of
from tidemill.cli.screen import Csv, Json, Screen
from tidemill.contract.errors import ExitCode, TidemillError, UsageError
from tidemill.contract.report import Report
from tidemill.reporting.standing import PipelineStanding, listed_pipelines, read_standing
from tidemill.spec.catalog import find, spec_files
from tidemill.spec.pipeline import open_pipeline
from tidemill.spec.root import root
from tidemill.steps.parts.run import perform
from tidemill.storage.run_context import RunContext

# Each look replaces the report of the one before.
RUN_ID = "tidemill doctor"

Name = Annotated[
    str | None,
    Argument(
        metavar="NAME",
        help="The pipeline.",
        show_default="those that status lists",
        autocompletion=pipelines,
    ),
]
Every = Annotated[bool, Option("--all", help="Also examples of the clone that never ran.")]


def doctor(
    name: Name = None,
    every: Every = False,
    fail_on: FailOn = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Look at all that a run depends on and at what waits: a run's first step alone.

    Exit code 4 where a run would be refused, 1 where a look fails or a feed is overdue; with
    --fail-on by the states alone. Nothing is taken in; a driver that outlived its task is ended.

    Examples:
      tidemill doctor
      tidemill doctor tides --fail-on refused,held
    """
    screen, failing = Screen(json, csv), states_of(fail_on)
    if name is not None and every:
        raise UsageError("A pipeline and --all were given.", remedy="Give one of them.", name=name)
    found = [look_at(one, screen) for one in _names(name, every)]
    standings = [standing for _, standing, _ in found]
    if fail_on is None:
        code = max((code for _, _, code in found), default=ExitCode.DONE)
    else:
        code = exit_code((one.state for one in standings), failing)
    if json:
        screen.document(
            {
                "exit_code": int(code),
                "pipelines": [
                    {
                        "report": report and report.model_dump(mode="json"),
                        "standing": standing.model_dump(mode="json"),
                    }
                    for report, standing, _ in found
                ],
            }
        )
    else:
        columns = ("pipeline", "state", "doctor", "to decide or repair")
        screen.table("", columns, (_line(report, one) for report, one, _ in found))
    raise Exit(int(code))


def _names(name: str | None, every: bool) -> list[str]:
    if name is not None:
        return [name]
    found = spec_files() if every else listed_pipelines()
    return [one.name for one in found]


def look_at(name: str, screen: Screen) -> tuple[Report | None, PipelineStanding, ExitCode]:
    """The doctor's report, None where the spec does not load; where it stands now; exit code."""
    from tidemill.steps.doctor import doctor as doctor_step

    spec = find(name)

    def log(line: str) -> None:
        screen.problem(f"{name}: {line}")

    look = partial(doctor_step, follow=False)
    try:
        report = perform("doctor", look, RunContext(open_pipeline(name), RUN_ID, log))
    except TidemillError as error:
        return None, read_standing(root(), spec), error.exit_code
    return report, read_standing(root(), spec), report.exit_code


def _line(report: Report | None, one: PipelineStanding) -> tuple[object, ...]:
    said = None if report is None else f"{report.outcome}: {report.reason}"
    return one.pipeline, one.state, said, " ".join(one.decisions)
