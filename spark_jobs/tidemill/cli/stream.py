"""`tidemill stream`: a pipeline's query until it is stopped, and the queries that run."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import Annotated, Any

from typer import Argument, Exit, Option

from tidemill.cli.completion import pipelines
from tidemill.cli.run import keep_spark_log, manual_run_id, show_doctor
from tidemill.cli.running_queries import explain, listed, status, stop, the_one
from tidemill.cli.screen import Csv, Json, Screen
from tidemill.cli.write_rule import DryRun, show_dry_run
from tidemill.cli.zones import Utc
from tidemill.contract.counted import counted
from tidemill.contract.errors import ExitCode, UsageError
from tidemill.engine.run.options import Rows, RunOptions
from tidemill.ledger.batch import Batch
from tidemill.main import sentence
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.spec.sinks import ConsoleSink
from tidemill.spec.stream_trigger import StreamTrigger, parse_trigger
from tidemill.steps.parts.run import perform
from tidemill.storage.run_context import RunContext

SIGNALS = (signal.SIGTERM, signal.SIGINT)

Name = Annotated[
    str | None,
    Argument(metavar="NAME", help="The pipeline.", show_default=False, autocompletion=pipelines),
]
TriggerText = Annotated[
    str,
    Option(
        "--trigger",
        help="default, processing-time=10s, available-now, once, continuous=1s or real-time=5m.",
    ),
]
Show = Annotated[bool, Option("--show", help="Print some rows of each batch.")]
Limit = Annotated[int, Option("--limit", min=1, help="Most rows of a batch to show.")]
RunId = Annotated[
    str | None, Option("--run-id", help="The id of this stream.", show_default="stream__<now>")
]
List = Annotated[bool, Option("--list", help="The queries that run now, of all pipelines.")]
Status = Annotated[bool, Option("--status", help="How the pipeline's running query is.")]
Stop = Annotated[bool, Option("--stop", help="End it after its current batch, and wait.")]
Explain = Annotated[bool, Option("--explain", help="Its extended plan, also if it is not running.")]


def stream(
    name: Name = None,
    trigger: TriggerText = "default",
    show: Show = False,
    limit: Limit = 20,
    run_id: RunId = None,
    list_: List = False,
    status_: Status = False,
    stop_: Stop = False,
    explain_: Explain = False,
    dry_run: DryRun = False,
    utc: Utc = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Run a query until it is stopped; list, watch, stop and explain running ones.

    A pipeline that publishes is only ingested: the next run judges and publishes it.

    Examples:
      tidemill stream tides --trigger processing-time=10s --show
      tidemill stream --list
      tidemill stream tides --stop
    """
    screen = Screen(json, csv)
    asked = [flag for flag in (list_, status_, stop_, explain_) if flag]
    if len(asked) > 1:
        raise UsageError(
            "--list, --status, --stop and --explain exclude each other.", remedy="Give one of them."
        )
    if list_:
        listed(screen, utc=utc)
        return
    if name is None:
        raise UsageError("Which pipeline?", remedy="Give its name, or --list.")
    pipeline = open_pipeline(name)
    if dry_run and stop_:
        query = the_one(pipeline)
        show_dry_run(screen, [f"end {query.run_id} after its current batch"], pipeline=name)
        return
    if asked:
        if status_:
            raise Exit(int(status(pipeline, screen, utc=utc)))
        raise Exit(int(stop(pipeline, screen) if stop_ else explain(pipeline, screen)))
    with_trigger = parse_trigger(trigger)
    if dry_run:
        raise Exit(int(show_doctor([name], screen)))
    _run(pipeline, run_id, with_trigger, limit if show else 0, screen)


def _run(
    pipeline: Pipeline, run_id: str | None, trigger: StreamTrigger, shown: int, screen: Screen
) -> None:
    from tidemill.steps.stream import stream as step

    run = RunContext(pipeline, run_id or manual_run_id("stream"), screen.line)
    keep_spark_log(run)

    def show(batch: Batch, rows: Rows) -> None:
        _table(screen, batch, rows)

    # Spark's console sink prints its rows itself.
    prints_itself = isinstance(pipeline.spec.sink, ConsoleSink)
    with _signals() as stopping:
        options = RunOptions(
            trigger,
            stop=lambda: "stopped by a signal" if stopping.is_set() else None,
            show=show if shown and not prints_itself else None,
            limit=shown or 1,
        )
        report = perform("ingest", lambda run: step(run, options), run)
    log = screen.line if report.exit_code is ExitCode.DONE else screen.problem
    log(sentence(report))
    if screen.as_json:
        screen.document(report.model_dump(mode="json"))
    raise Exit(int(report.exit_code))


@contextmanager
def _signals() -> Iterator[Event]:
    """SIGTERM and Ctrl-C end the query after its batch; the second of them ends the process."""
    stopping = Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if stopping.is_set():
            signal.default_int_handler(number, frame)
        stopping.set()

    before = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _table(screen: Screen, batch: Batch, rows: Rows) -> None:
    columns: list[str] = []
    for row in rows:
        columns += [name for name in row if name not in columns]
    values: list[list[Any]] = [[row.get(name) for name in columns] for row in rows]
    # A table's own title is wrapped to the table's width.
    screen.line(f"batch {batch.batch}: {len(rows):,} of {counted(batch.rows, 'row')}")
    if rows:
        screen.table("", columns, values)
