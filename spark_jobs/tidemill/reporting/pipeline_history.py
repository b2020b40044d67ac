"""A pipeline's newest increments, its targets and its sources, for one page."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from tidemill.contract import report as reports
from tidemill.contract.document import FrozenModel
from tidemill.contract.layout import Layout
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Step
from tidemill.increments.excerpt import Excerpt
from tidemill.increments.increment import Increment
from tidemill.increments.status import IncrementStatus, read_increments
from tidemill.ledger.batch import Batch
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.late_rows import LateLog, LateRows
from tidemill.ledger.ledger import Ledger
from tidemill.spark_logs.offset_log import is_of_files
from tidemill.storage import documents

NEWEST = 50
TIMED: tuple[Step, ...] = ("doctor", "ingest", "gate", "publish")
# The newest batches in which the last file of each source is looked for.
RECENT_BATCHES = 50


class PastIncrement(FrozenModel):
    """An increment, with what it cost.

    Attributes:
        sealed: When its batches became an increment, UTC.
        late: Rows that came after the watermark; None where it is unknown.
        seconds: Step -> how long it took in the run that sealed the increment.
        asked_by: Who had it computed again, and why; None for live batches.
    """

    status: IncrementStatus
    sealed: datetime
    late: int | None
    seconds: dict[Step, float]
    asked_by: str | None = None
    asked_why: str | None = None


class TargetHead(FrozenModel):
    """What a target holds.

    Attributes:
        event: The last event that it applied, of the newest ones; None if of none.
        behind: The number of events that it has still to apply.
    """

    target: str
    event: int | None
    increment: int | None
    version: int | None
    at: datetime | None
    behind: int


class SourcePosition(FrozenModel):
    """How far a source is read.

    Attributes:
        offset: Spark's, after the last batch.
        newest_file: The last file that was read in the newest batches; None where there is none.
    """

    source: str
    offset: Any
    newest_file: str | None = None


class StaticRead(FrozenModel):
    """A static input, as the last batch read it."""

    name: str
    kind: str
    identity: str
    files: int
    rows: int | None
    version: int | None


class PipelineHistory(FrozenModel):
    """The newest part of a pipeline's past, and where it stands.

    Attributes:
        waiting: The increments that are held or wait, oldest first.
        increments: The newest, newest first.
        watermark: The watermark after the last batch, UTC; None without event time.
        state: Figures on the query's state, as the last ingest that has any reported them.
    """

    pipeline: str
    generation: str
    pipeline_class: PipelineClass | None
    mode: str | None
    batches: int
    waiting: tuple[PastIncrement, ...]
    increments: tuple[PastIncrement, ...]
    targets: tuple[TargetHead, ...]
    positions: tuple[SourcePosition, ...]
    statics: tuple[StaticRead, ...]
    watermark: datetime | None
    state: dict[str, Any] | None

    @property
    def recomputations(self) -> tuple[PastIncrement, ...]:
        return tuple(one for one in self.increments if one.status.recomputation is not None)


def read_history(layout: Layout, targets: Sequence[str], count: int = NEWEST) -> PipelineHistory:
    """The newest increments of a pipeline; what it costs does not grow with its past.

    Args:
        targets: Their names, as the spec has them.
        count: The most increments to return, besides those that wait.
    """
    excerpt = Excerpt.of_newest(layout, count)
    sealed = {one.number: one for one in excerpt.increments}
    note = read_note(layout, excerpt.generation)
    kept = None if note is None else note.pipeline_class
    past = [_past(layout, status, sealed[status.increment], kept) for status in
            read_increments(excerpt)]  # fmt: skip
    ledger = Ledger(layout, excerpt.generation)
    last = _last_batch(ledger)
    return PipelineHistory(
        pipeline=layout.name,
        generation=excerpt.generation,
        pipeline_class=kept,
        mode=None if note is None else str(note.mode),
        batches=ledger.latest() + 1,
        waiting=tuple(one for one in past if one.status.waits),
        increments=tuple(past[::-1][:count]),
        targets=tuple(_head(excerpt, name) for name in targets),
        positions=() if last is None else _positions(ledger, last),
        statics=() if last is None else _statics(last),
        watermark=None if last is None else _watermark(last),
        state=None if kept in (None, PipelineClass.MAP) else _state(layout, past),
    )


def _past(
    layout: Layout, status: IncrementStatus, increment: Increment, kept: PipelineClass | None
) -> PastIncrement:
    again = increment.sealed.recomputation
    return PastIncrement(
        status=status,
        sealed=increment.sealed.sealed,
        late=_late(layout, increment, kept),
        seconds=_seconds(layout, increment.sealed.run_id),
        asked_by=None if again is None else again.by,
        asked_why=None if again is None else again.reason,
    )


def _late(layout: Layout, increment: Increment, kept: PipelineClass | None) -> int | None:
    if kept is None or kept is PipelineClass.MAP:
        return 0
    place = increment.sealed.stored_in
    log = LateLog(layout, place.generation)
    total = 0
    for batch in range(place.first, place.last + 1):
        found = documents.read(log.document(batch), LateRows)
        if found is None or found.rows is None:
            return None
        total += found.rows
    return total


def _seconds(layout: Layout, run_id: str) -> dict[Step, float]:
    folder = layout.run(run_id)
    found = {step: reports.read(folder, step) for step in TIMED}
    return {
        step: (report.finished - report.started).total_seconds()
        for step, report in found.items()
        if report is not None
    }


def _head(excerpt: Excerpt, target: str) -> TargetHead:
    behind = len(excerpt.journal.behind(target))
    for event in reversed(excerpt.events):
        applied = excerpt.journal.applied(event.seq, target)
        if applied is not None:
            return TargetHead(
                target=target,
                event=event.seq,
                increment=event.increment,
                version=applied.version,
                at=applied.at,
                behind=behind,
            )
    return TargetHead(
        target=target, event=None, increment=None, version=None, at=None, behind=behind
    )


def _last_batch(ledger: Ledger) -> Batch | None:
    latest = ledger.latest()
    return ledger.batches(latest, latest)[0] if latest >= 0 else None


def _positions(ledger: Ledger, last: Batch) -> tuple[SourcePosition, ...]:
    of_files = {name for name, offset in last.offsets.items() if is_of_files(offset)}
    newest: dict[str, str] = {}
    for number in range(last.batch, max(-1, last.batch - RECENT_BATCHES), -1):
        (batch,) = (last,) if number == last.batch else ledger.batches(number, number)
        newest = {file.source: file.path for file in batch.inputs} | newest
        # A batch need not hold files of every source.
        if of_files <= newest.keys():
            break
    return tuple(
        SourcePosition(source=name, offset=offset, newest_file=newest.get(name))
        for name, offset in last.offsets.items()
    )


def _statics(last: Batch) -> tuple[StaticRead, ...]:
    return tuple(
        StaticRead(
            name=name,
            kind=pin.kind,
            identity=pin.identity,
            files=len(pin.files),
            rows=pin.rows,
            version=pin.version,
        )
        for name, pin in last.static.items()
    )


def _watermark(last: Batch) -> datetime | None:
    # Spark's watermark begins at 1970, and stays there without event time.
    if not last.watermark_after_ms:
        return None
    return datetime.fromtimestamp(last.watermark_after_ms / 1000, UTC)


def _state(layout: Layout, past: Iterable[PastIncrement]) -> dict[str, Any] | None:
    """Figures on the state, from the newest run that reported any."""
    for one in reversed(list(past)):
        report = reports.read(layout.run(one.status.run_id), "ingest")
        state = report.facts.get("state") if report else None
        if state:
            return dict(state)
    return None
