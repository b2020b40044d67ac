"""`tidemill status`: where pipelines stand."""

from collections.abc import Callable
from datetime import datetime, tzinfo
from functools import cache
from typing import Annotated

from typer import Argument, Exit, Option

from tidemill.cli.completion import pipelines
from tidemill.cli.fail_on import FailOn, exit_code, states_of
from tidemill.cli.screen import Csv, Json, Quantity, Screen
from tidemill.cli.zones import Utc, time_shown, zone_of
from tidemill.contract.clock import wall_clock
from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused, TidemillError
from tidemill.contract.layout import FIRST_GENERATION, Layout
from tidemill.file_formats.delta import Head
from tidemill.increments.status import IncrementStatus
from tidemill.ledger.orphans import read_orphans
from tidemill.reporting.chain import chains_of, read_abouts
from tidemill.reporting.due import due_in_words, read_due
from tidemill.reporting.folding import Folded, fold
from tidemill.reporting.pipeline_status import PipelineStatus, read_status
from tidemill.reporting.standing import (
    PipelineStanding,
    by_attention,
    listed_pipelines,
    read_standing,
)
from tidemill.reporting.status_document import LastRun
from tidemill.reporting.words import ago, share
from tidemill.spec.catalog import find
from tidemill.spec.pipeline import open_pipeline
from tidemill.spec.root import existing_root

Name = Annotated[
    str | None,
    Argument(metavar="NAME", help="The pipeline.", show_default="all", autocompletion=pipelines),
]

Unfolded = Annotated[
    bool, Option("--unfolded", help="A row for each pipeline of a template, also if all is well.")
]


def status(
    name: Name = None,
    fail_on: FailOn = None,
    unfolded: Unfolded = False,
    utc: Utc = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show where pipelines stand: all, what needs attention first, or one in detail.

    Pipelines of one template that need no attention are one row, but not in JSON and CSV.

    Examples:
      tidemill status
      tidemill status tides
      tidemill status --fail-on held,overdue,behind
    """
    screen, failing, due_in = Screen(json, csv), states_of(fail_on), cache(read_due)
    if name is not None:
        try:
            standing = read_standing(existing_root(), find(name))
            one = _with_orphans(Layout(existing_root(), name))
        except TidemillError as error:
            if not json:
                raise
            screen.document({"pipelines": [{"pipeline": name, "error": error.as_dict()}]})
            raise Exit(int(error.exit_code)) from error
        if json:
            found = [due.model_dump(mode="json") for due in due_in(name)]
            abouts = {**read_abouts(existing_root()), name: standing.about}
            added = {
                "error": None,
                "due": found,
                "chain": chains_of([name], abouts, due_in)[name].model_dump(mode="json"),
                "standing": standing.model_dump(mode="json"),
                "given_up": _given_up(name),
            }
            screen.document({"pipelines": [{**one.model_dump(mode="json"), **added}]})
        else:
            screen.line(f"state: {standing.state}")
            _show(one, screen, zone_of(name, utc))
            for due in due_in(name):
                screen.line(due_in_words(name, due))
            if lost := _given_up(name):
                screen.line(lost)
        raise Exit(int(exit_code([standing.state], failing)))
    every = by_attention(read_standing(existing_root(), spec) for spec in listed_pipelines())
    if json:
        abouts = {one.pipeline: one.about for one in every}
        chains = chains_of(abouts, abouts, due_in)
        screen.document(
            {
                "pipelines": [
                    {
                        **one.model_dump(mode="json"),
                        "chain": chains[one.pipeline].model_dump(mode="json"),
                    }
                    for one in every
                ]
            }
        )
    else:
        columns = ("pipeline", "state", "waiting", "published", "rows in 14 days", "rejected")
        now = wall_clock()
        rows = every if unfolded or csv else fold(every)
        screen.table("", (*columns, "to decide", "last run"), (_row(one, now) for one in rows))
    raise Exit(int(exit_code((one.state for one in every), failing)))


def _row(one: PipelineStanding | Folded, now: datetime) -> tuple[object, ...]:
    if isinstance(one, PipelineStanding):
        return _line(one, now)
    total = Quantity(sum(one.rows_of_days))
    return one.name, one.states_in_words, None, None, total, None, None, None


def _line(one: PipelineStanding, now: datetime) -> tuple[object, ...]:
    published = one.published
    return (
        one.pipeline,
        one.state,
        one.waiting,
        published and f"version {published.version}, {ago(published.at, now)}",
        Quantity(sum(one.rows_of_days)),
        share(one.rejected_share),
        " ".join(one.decisions),
        _last_run(one.last_run, lambda at: ago(at, now)),
    )


def _with_orphans(layout: Layout) -> PipelineStatus:
    """The status of one pipeline; for orphans its whole sink is listed."""
    found = read_status(layout, _targets(layout.name))
    try:
        orphans = read_orphans(layout, found.generation)
    except Refused:
        # What is wrong with Spark's logs is for the doctor to say.
        orphans = None
    return found.model_copy(update={"orphans": orphans})


def _targets(name: str) -> list[str]:
    try:
        return [target.name for target in open_pipeline(name).spec.publish]
    except TidemillError:
        # What was done with an older spec can be shown while the new one does not load.
        return []


def _given_up(name: str) -> str | None:
    try:
        return find(name).load().given_up
    except TidemillError:
        return None


def _show(one: PipelineStatus, screen: Screen, zone: tzinfo) -> None:
    table = one.table
    published = len(one.increments) - len(one.unpublished)
    if table is None and published:
        screen.line(f"{one.pipeline}: {counted(published, 'increment')} published")
    elif table is None:
        screen.line(f"{one.pipeline}: nothing published yet")
    else:
        rows = "unknown rows" if table.rows is None else counted(table.rows, "row")
        screen.line(
            f"{one.pipeline}: version {table.version}, {rows} in "
            f"{counted(table.files, 'file')}, {_rows(one.rejected)} rejected"
        )
    if one.pipeline_class is not None:
        screen.line(f"class: {one.pipeline_class}")
    building = "".join(f", {name} is being built" for name in one.building)
    if building or one.generation != FIRST_GENERATION:
        screen.line(f"generation: {one.generation}{building}")
    screen.line(f"batches: {one.batches:,} committed, {one.unsealed:,} of them not yet at the gate")
    if one.late:
        screen.line(f"late: {counted(one.late, 'row')}, shown by: tidemill late {one.pipeline}")
    if one.orphans is not None and one.orphans.files:
        screen.line(
            f"orphans: {counted(one.orphans.files, 'file')} of "
            f"{counted(one.orphans.bytes, 'byte')} in the sink, which no log names, so that "
            "readers ignore them"
        )
    screen.line(f"unpublished: {_unpublished(one) or 'none'}")
    for target, lag in one.lagging.items():
        screen.line(f"{target}: {counted(lag, 'increment')} behind")
    last = _last_run(one.last_run, lambda at: f"at {time_shown(at, zone)}")
    screen.line(f"last run: {last or 'none'}")
    if one.writer is not None:
        state = "gone" if one.writer.gone else "at work"
        screen.line(
            f"writer: {one.writer.step} of {one.writer.run_id}, process {one.writer.pid} on "
            f"{one.writer.host}, since {time_shown(one.writer.since, zone)}, {state}"
        )
    if one.increments:
        columns = ("increment", "batches", "rows", "rejected", "state", "engine", "reasons")
        screen.table("", columns, (_increment(one.pipeline, i, zone) for i in one.increments))


def _increment(name: str, i: IncrementStatus, zone: tzinfo) -> tuple[object, ...]:
    batches = f"{i.first}-{i.last}" if i.first != i.last else i.first
    notes = [*i.reasons]
    if i.released_by is not None:
        notes.append(f"released by {_person(i)}: {i.release_reason}")
    elif i.decided_by is not None:
        what = f"{i.recomputation}, {i.partitions}" if i.partitions else i.recomputation or i.state
        notes.append(f"{what} by {_person(i)}")
    if i.lost_race is not None:
        notes.append(f"{i.lost_race}: `{_again(name, i)}` computes it again")
    rows, rejected = Quantity(i.rows), Quantity(i.rejected)
    return (
        f"{i.increment:06d}",
        batches,
        rows,
        rejected,
        state_of(i, zone),
        i.engine,
        "; ".join(notes),
    )


def _again(name: str, i: IncrementStatus) -> str:
    """The command after which an increment that lost its race is computed again."""
    own_run = "" if i.state == "released" else f" --run-id {i.run_id}"
    return f"tidemill run {name}{own_run}"


def _person(i: IncrementStatus) -> str:
    """Who decided about an increment, and whose process did it: the first is what they say."""
    return f"{i.decided_by}" if i.os_user is None else f"{i.decided_by}, as {i.os_user}"


def state_of(i: IncrementStatus, zone: tzinfo) -> str:
    """An increment's state in a few words, with times in a zone."""
    if i.version is not None:
        done = "passed over" if i.state == "rejected" else "published"
        return f"{done} in version {i.version}"
    words = f"{i.state} since {time_shown(i.since, zone)}"
    if i.event is not None:
        words = f"{words}, event {i.event} of the journal"
    if i.lost_race is not None:
        words = f"{words}, to be computed again"
    return words if i.behind is None else f"{words}, behind {i.behind:06d}"


def _unpublished(one: PipelineStatus) -> str | None:
    if not one.unpublished:
        return None
    held = f", {len(one.held)} held" if one.held else ""
    return f"{len(one.unpublished)}{held}"


def _last_run(last: LastRun | None, when: Callable[[datetime], str]) -> str | None:
    if last is None:
        return None
    return f"{last.step} {last.outcome} {when(last.finished)} ({last.run_id}): {last.reason}"


def _rows(head: Head | None) -> str:
    if head is None:
        return "0"
    return "unknown" if head.rows is None else f"{head.rows:,}"
