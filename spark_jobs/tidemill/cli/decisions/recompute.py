"""What a person asks for: backfill, redo, reject, reinstate, rebuild; each a run of four steps."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, NoReturn
from zoneinfo import ZoneInfo

from typer import BadParameter, Exit, Option

from tidemill.cli.decisions.options import By, HistoryReason, Increment, decider
from tidemill.cli.run import manual_run_id, perform_shown
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.cli.write_rule import DryRun, Yes, agreed, show_dry_run
from tidemill.contract.clock import wall_clock
from tidemill.contract.report import Outcome, Report
from tidemill.ledger.run_request import RunRequest, fix_request, partition_named
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.storage.run_context import RunContext

Exclude = Annotated[
    list[str] | None,
    Option("--exclude", metavar="FILE", help="That is not to count any more; may be repeated."),
]
# Whose dry run is computed, by the steps of a run; its report is kept.
COMPUTED = ("backfill", "rebuild")


def backfill(
    name: PipelineName,
    start: Annotated[
        str | None, Option("--from", help="A day or a time, in the spec's zone.")
    ] = None,
    end: Annotated[str | None, Option("--to", help="The same; not part of the interval.")] = None,
    partition: Annotated[
        list[str] | None,
        Option(
            "--partition",
            metavar="COLUMN=VALUE",
            help="A partition instead, such as year=2012 or year=2012/state=CA; may be repeated.",
        ),
    ] = None,
    dry_run: DryRun = False,
    reason: Annotated[str, Option("--reason", help="Why; for the table's history.")] = "",
    by: By = None,
    json: Json = False,
) -> None:
    """Compute the partitions of some days again, and swap them in.

    Examples:
      tidemill backfill tides --from 2026-03-01 --to 2026-03-08 --dry-run
      tidemill backfill tides --partition day=2026-03-01 --reason "rule fixed"
    """
    pipeline = open_pipeline(name)
    if partition and (start or end):
        raise BadParameter("Give an interval with --from and --to, or partitions, not both.")
    request = RunRequest(
        role="backfill",
        start=None if start is None else _moment(pipeline, start),
        end=None if end is None else _moment(pipeline, end),
        partitions=tuple(partition_named(one) for one in partition or ()),
        dry_run=dry_run,
        by=decider(by),
        reason=reason,
        asked=wall_clock(),
    )
    from tidemill.steps.decisions.backfill import verify_interval

    verify_interval(pipeline, request)
    perform_request(pipeline, request, json)


def redo(
    name: PipelineName,
    reason: HistoryReason,
    exclude: Exclude = None,
    by: By = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Compute what is not published again with today's code.

    Examples:
      tidemill redo tides --reason "rule fixed"
      tidemill redo tides --exclude feed/2026-03-01.csv --reason "a test file"
    """
    request = RunRequest(role="redo", exclude=tuple(exclude or ()), dry_run=dry_run, reason=reason)
    _decide(name, request, by, json)


def reject(
    name: PipelineName,
    increment: Increment,
    reason: HistoryReason,
    by: By = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Leave the input of an unpublished increment out; those behind it go out.

    A backfill, replay, reinstatement or rebuild that is not published yet is dropped.

    Examples:
      tidemill reject tides 3 --reason "sent by the wrong station"
    """
    request = RunRequest(role="reject", increment=increment, dry_run=dry_run, reason=reason)
    _decide(name, request, by, json)


def reinstate(
    name: PipelineName,
    increment: Increment,
    reason: HistoryReason,
    by: By = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Take a rejection back: the rows of its input are added.

    Examples:
      tidemill reinstate tides 3 --reason "it was right after all"
    """
    request = RunRequest(role="reinstate", increment=increment, dry_run=dry_run, reason=reason)
    _decide(name, request, by, json)


def rebuild(
    name: PipelineName,
    reason: HistoryReason,
    exclude: Exclude = None,
    accept_loss: Annotated[
        bool, Option("--accept-loss", help="Go on without what the sources no longer hold.")
    ] = False,
    by: By = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Compute everything again from its input, and swap the whole table.

    With --accept-loss it asks first: what the sources no longer hold is then gone for good.

    Examples:
      tidemill rebuild tides --dry-run --reason "new key"
      tidemill rebuild tides --reason "new key"
    """
    request = RunRequest(
        role="rebuild",
        exclude=tuple(exclude or ()),
        dry_run=dry_run,
        accept_loss=accept_loss,
        reason=reason,
    )
    lost = ["swap the whole table for one without what the sources no longer hold"]
    # A dry run says what that is.
    if dry_run or agreed(Screen(json), lost if accept_loss else (), dry_run=False, yes=yes):
        _decide(name, request, by, json)


def replay(
    name: PipelineName,
    dry_run: DryRun = False,
    reason: HistoryReason = "rule or schema fixed",
    by: By = None,
    json: Json = False,
) -> None:
    """Judge rejected rows by today's rules and schema: computes their partitions again.

    Examples:
      tidemill replay tides --dry-run
    """
    _decide(
        name, RunRequest(role="backfill", rejected=True, dry_run=dry_run, reason=reason), by, json
    )


def ask_for_partitions(
    pipeline: Pipeline,
    partitions: Sequence[dict[str, str | None]],
    *,
    by: str | None,
    reason: str,
    json: bool,
    dry_run: bool = False,
) -> NoReturn:
    """Have some partitions computed again, and leave with the exit code of that.

    Args:
        partitions: Column -> value; none of a table without partitions, which is done whole.
        by: The person; whoever runs this where not given.
        json: Whether the report goes to the screen as JSON.
        dry_run: Whether to say what would come of it, and change nothing.
    """
    request = RunRequest(
        role="backfill",
        partitions=tuple(partitions) or ({},),
        dry_run=dry_run,
        by=decider(by),
        reason=reason,
        asked=wall_clock(),
    )
    perform_request(pipeline, request, json)


def _decide(name: str, request: RunRequest, by: str | None, json: bool) -> None:
    asked = request.model_copy(update={"by": decider(by), "asked": wall_clock()})
    pipeline = open_pipeline(name)
    if asked.dry_run and asked.role not in COMPUTED:
        from tidemill.steps.decisions.planned import planned

        show_dry_run(Screen(json), planned(pipeline, asked), pipeline=name)
        return
    perform_request(pipeline, asked, json)


def perform_request(pipeline: Pipeline, request: RunRequest, json: bool) -> NoReturn:
    """The steps of a run that does what was asked, up to the first that does not end well."""
    screen, run_id = Screen(json), manual_run_id(request.role)
    fix_request(pipeline.layout.run(run_id), request)
    run = RunContext(pipeline, run_id, screen.line)
    reports: list[Report] = []
    for step in request.steps:
        reports.append(perform_shown(step, run, screen))
        if reports[-1].outcome is not Outcome.DONE:
            break
    if json:
        screen.document(
            {
                "pipeline": pipeline.name,
                "run_id": run_id,
                "request": request.model_dump(mode="json"),
                "outcome": reports[-1].outcome,
                "reports": [report.model_dump(mode="json") for report in reports],
            }
        )
    raise Exit(int(reports[-1].exit_code))


def _moment(pipeline: Pipeline, text: str) -> datetime:
    """A day or a time of day; without a zone of its own it is in the spec's."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadParameter(f"'{text}' is not a day or time such as 2026-03-01.") from error
    return found if found.tzinfo else found.replace(tzinfo=ZoneInfo(pipeline.spec.timezone))
