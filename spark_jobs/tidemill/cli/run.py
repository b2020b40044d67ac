"""`tidemill run`: the four steps in order, in this process, of one pipeline or of several."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from traceback import format_exc
from typing import Annotated, Any, get_args

from typer import Argument, Exit, Option

from tidemill.cli.completion import pipelines, runs
from tidemill.cli.doctor import look_at
from tidemill.cli.ingest_bar import IngestBar
from tidemill.cli.screen import Json, Screen
from tidemill.cli.write_rule import DryRun, show_dry_run
from tidemill.contract.clock import wall_clock
from tidemill.contract.errors import ExitCode, SpecError, TidemillError
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.contract.report import Outcome, Report, Step, read
from tidemill.ledger.run_request import read_request
from tidemill.main import sentence, step_function
from tidemill.spec.pipeline import open_pipeline
from tidemill.spec.sinks import ConsoleSink
from tidemill.steps.ingest_group import ingest_group, refuse_other_application
from tidemill.steps.parts.run import perform
from tidemill.storage.run_context import RunContext
from tidemill.toolchain import jvm

Names = Annotated[
    list[str],
    Argument(
        metavar="NAME...", help="The pipelines.", show_default=False, autocompletion=pipelines
    ),
]
RunId = Annotated[
    str | None,
    Option(
        "--run-id",
        help="An earlier run: its own increment is judged and published again.",
        show_default="manual__<now>",
        autocompletion=runs,
    ),
]


def run(names: Names, run_id: RunId = None, dry_run: DryRun = False, json: Json = False) -> None:
    """Take in what is there, judge it, publish it: doctor, ingest, gate, publish.

    A pipeline with a sink of Spark's own runs doctor and ingest. Several pipelines are ingested in
    one Spark application; one that fails or is held leaves the others alone. With --dry-run the
    doctor says what waits or why a run is refused, and leaves its report.

    Examples:
      tidemill run tides
      tidemill run tides gauges --json
    """
    screen, run_id = Screen(json), run_id or manual_run_id()
    names = [*dict.fromkeys(names)]
    if dry_run:
        raise Exit(int(show_doctor(names, screen)))
    parts = [_opened(name, run_id, screen, alone=len(names) == 1) for name in names]
    _refuse_other_applications(parts)
    for part in parts:
        if part.error is not None:
            screen.problem(f"{part.prefix}{part.error.code}: {part.error}")
    for step in get_args(Step):
        due = [part for part in parts if part.due(step)]
        # What is computed again is so alone.
        live = [part for part in due if step == "ingest" and part.live]
        if len(live) > 1:
            _ingest_together(live, screen)
            due = [part for part in due if part not in live]
        for part in due:
            part.reports.append(perform_shown(step, part.run, screen, part.prefix))
    code = max(part.exit_code for part in parts)
    if json:
        documents = [part.document(run_id) for part in parts]
        screen.document({"run_id": run_id, "exit_code": code, "pipelines": documents})
    raise Exit(code)


def show_doctor(names: Sequence[str], screen: Screen) -> ExitCode:
    """The dry run of what starts with a doctor: what each pipeline's doctor says now.

    Returns:
        The worst exit code that the doctors end with.
    """
    plan, codes = [], [ExitCode.DONE]
    for name in names:
        report, standing, code = look_at(name, screen)
        codes.append(code)
        plan.append(f"{name}: " + (sentence(report) if report else " ".join(standing.decisions)))
    show_dry_run(screen, plan, pipelines=[*names])
    return max(codes)


@dataclass
class _Part:
    """A pipeline's part of the command.

    Args:
        prefix: Stands before each of its lines.
        opened: Its run, or why there can be none.
    """

    name: str
    prefix: str
    opened: RunContext | TidemillError
    reports: list[Report] = field(default_factory=list)

    @property
    def run(self) -> RunContext:
        if isinstance(self.opened, TidemillError):
            raise self.opened
        return self.opened

    @property
    def error(self) -> TidemillError | None:
        return self.opened if isinstance(self.opened, TidemillError) else None

    def due(self, step: Step) -> bool:
        well = all(report.outcome is Outcome.DONE for report in self.reports)
        return self.error is None and well and step in steps_of(self.run)

    @property
    def live(self) -> bool:
        return read_request(self.run.layout.run(self.run.run_id)).role == "live"

    @property
    def exit_code(self) -> int:
        error = self.error
        return int(self.reports[-1].exit_code if error is None else error.exit_code)

    def document(self, run_id: str) -> dict[str, Any]:
        """The same keys, however the pipeline ended."""
        last = self.reports[-1] if self.reports else None
        error = None if self.error is None else self.error.as_dict()
        return {
            "pipeline": self.name,
            "run_id": run_id,
            "outcome": Outcome.REFUSED if last is None else last.outcome,
            "error": error if last is None else last.error,
            "reports": [report.model_dump(mode="json") for report in self.reports],
        }


def _opened(name: str, run_id: str, screen: Screen, *, alone: bool) -> _Part:
    """With several pipelines, each line begins with the pipeline's name."""
    prefix = "" if alone else f"{name}: "

    def log(line: str) -> None:
        screen.line(f"{prefix}{line}")

    try:
        return _Part(name, prefix, RunContext(open_pipeline(name), run_id, log))
    except TidemillError as error:
        return _Part(name, prefix, error)


def _refuse_other_applications(parts: Sequence[_Part]) -> None:
    loaded = [part for part in parts if part.error is None]
    for part in loaded[1:]:
        try:
            refuse_other_application(loaded[0].run.pipeline, part.run.pipeline)
        except SpecError as error:
            part.opened = error


def _ingest_together(parts: Sequence[_Part], screen: Screen) -> None:
    runs = [part.run for part in parts]
    keep_spark_log(runs[0])
    with screen.busy("ingest …"):
        reports = {report.pipeline: report for report in ingest_group(runs)}
    for part in parts:
        part.reports.append(reports[part.name])
        _show(part.reports[-1], screen, part.prefix)


def steps_of(run: RunContext) -> tuple[Step, ...]:
    """The steps of a run: to a sink of Spark's own no gate can be put, nor anything behind it."""
    every = read_request(run.layout.run(run.run_id)).steps
    return every if run.pipeline.spec.published else every[: every.index("ingest") + 1]


def perform_shown(step: Step, this: RunContext, screen: Screen, prefix: str = "") -> Report:
    """Perform one step, its lines and its end on the screen.

    An error that is not one of ours has its stack trace on standard error, and its report.
    """
    keep_spark_log(this)
    try:
        with screen.busy(IngestBar(this.layout) if step == "ingest" else f"{step} …"):
            report = perform(step, step_function(step), this)
    except Exception:
        left = read(this.layout.run(this.run_id), step)
        if left is None:
            raise
        screen.problem(format_exc())
        report = left
    _show(report, screen, prefix)
    return report


def keep_spark_log(this: RunContext) -> None:
    """Keep the lines of Spark's JVM beside the run's reports, and off the terminal.

    They are in a temporary file, which stays, where the root is in an object store.
    """
    # Spark's console sink prints rows for whoever is watching.
    if isinstance(this.pipeline.spec.sink, ConsoleSink):
        jvm.keep_log(None)
    elif isinstance(this.layout.root, ObjectPath):
        with NamedTemporaryFile(prefix="tidemill-spark-", suffix=".log", delete=False) as log:
            jvm.keep_log(Path(log.name))
    else:
        jvm.keep_log(this.layout.run(this.run_id) / "spark.log")


def _show(report: Report, screen: Screen, prefix: str) -> None:
    show = screen.line if report.exit_code is ExitCode.DONE else screen.problem
    show(f"{prefix}{sentence(report)}")


def manual_run_id(kind: str = "manual") -> str:
    """A run id like Airflow's own, such as `manual__2026-03-01T06:00:00+00:00`."""
    return f"{kind}__{wall_clock().isoformat()}"
