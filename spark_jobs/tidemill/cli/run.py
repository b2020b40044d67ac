"""`tidemill run`: the four steps in order, in this process, of one pipeline or of several."""

from collections.abc import Mapping, Sequence
from traceback import format_exc
from typing import Annotated, Any, get_args

from typer import Argument, Exit, Option

from tidemill.cli.screen import Json, Screen
from tidemill.contract.clock import wall_clock
from tidemill.contract.errors import ExitCode
from tidemill.contract.log import Log
from tidemill.contract.report import Outcome, Report, Step, read
from tidemill.ledger.run_request import read_request
from tidemill.main import sentence, step_function
from tidemill.spec.pipeline import open_pipeline
from tidemill.steps.parts.run import perform
from tidemill.storage.run_context import RunContext

Names = Annotated[list[str], Argument(metavar="NAME...", help="The pipelines.", show_default=False)]
RunId = Annotated[
    str | None,
    Option(
        "--run-id",
        help="An earlier run: its own increment is judged and published again.",
        show_default="manual__<now>",
    ),
]


def run(names: Names, run_id: RunId = None, json: Json = False) -> None:
    """Take in what is available, judge it, publish it: doctor, ingest, gate, publish.

    A pipeline with a sink of Spark's own runs doctor and ingest. Several pipelines are ingested in
    one Spark application; one that fails or is held leaves the others alone.
    """
    screen, run_id = Screen(json), run_id or manual_run_id()
    pipelines = [open_pipeline(name) for name in dict.fromkeys(names)]
    alone = len(pipelines) == 1
    runs = [
        RunContext(one, run_id, _log_of(screen, "" if alone else one.name)) for one in pipelines
    ]
    found: dict[str, list[Report]] = {one.name: [] for one in pipelines}
    for step in get_args(Step):
        due = [this for this in runs if step in steps_of(this) and _well(found, this)]
        if step == "ingest" and len(due) > 1:
            reports = _ingest_together(due, screen)
        else:
            reports = [_performed(step, this, screen, alone=alone) for this in due]
        for report in reports:
            found[report.pipeline].append(report)
    if json:
        documents = [_document(name, run_id, reports) for name, reports in found.items()]
        screen.document(documents[0] if alone else documents)
    raise Exit(max(int(reports[-1].exit_code) for reports in found.values()))


def _log_of(screen: Screen, name: str) -> Log:
    """With several pipelines, each line begins with the pipeline's name."""
    return (lambda line: screen.line(f"{name}: {line}")) if name else screen.line


def _well(found: Mapping[str, Sequence[Report]], this: RunContext) -> bool:
    return all(report.outcome is Outcome.DONE for report in found[this.pipeline.name])


def _ingest_together(runs: Sequence[RunContext], screen: Screen) -> list[Report]:
    from tidemill.steps.ingest_group import ingest_group

    with screen.busy("ingest …"):
        reports = ingest_group(runs)
    for report in reports:
        _show(report, screen, report.pipeline)
    return reports


def _performed(step: Step, this: RunContext, screen: Screen, *, alone: bool) -> Report:
    try:
        return perform_shown(step, this, screen, "" if alone else this.pipeline.name)
    except Exception:
        left = read(this.pipeline.layout.run(this.run_id), step)
        if alone or left is None:
            raise
        # The others go on.
        screen.problem(format_exc())
        return left


def _document(name: str, run_id: str, reports: Sequence[Report]) -> dict[str, Any]:
    return {
        "pipeline": name,
        "run_id": run_id,
        "outcome": reports[-1].outcome,
        "reports": [report.model_dump(mode="json") for report in reports],
    }


def steps_of(run: RunContext) -> tuple[Step, ...]:
    """The steps of a run: to a sink of Spark's own no gate can be put, nor anything behind it."""
    every = read_request(run.layout.run(run.run_id)).steps
    return every if run.pipeline.spec.published else every[: every.index("ingest") + 1]


def perform_shown(step: Step, this: RunContext, screen: Screen, name: str = "") -> Report:
    """Perform one step, its lines and its end on the screen; before the end the name, if given."""
    with screen.busy(f"{step} …"):
        report = perform(step, step_function(step), this)
    _show(report, screen, name)
    return report


def _show(report: Report, screen: Screen, name: str) -> None:
    show = screen.line if report.exit_code is ExitCode.DONE else screen.problem
    show(f"{name}: {sentence(report)}" if name else sentence(report))


def manual_run_id(kind: str = "manual") -> str:
    """A run id like Airflow's own, such as `manual__2026-03-01T06:00:00+00:00`."""
    return f"{kind}__{wall_clock().isoformat()}"
