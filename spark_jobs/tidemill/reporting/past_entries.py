"""A pipeline's past as one list: what was sealed, judged, decided, published and taken over."""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, get_args

from tidemill.contract.counted import counted
from tidemill.contract.document import FrozenModel
from tidemill.contract.layout import Layout
from tidemill.increments.increment import Increment
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.event import Event, Withdrawal
from tidemill.journal.journal import Journal
from tidemill.ledger.flushes import flushes
from tidemill.ledger.losses import Losses

# In the order in which they follow each other where two have the same time.
What = Literal[
    "loss accepted",
    "flush",
    "sealed",
    "verdict",
    "release",
    "rejection",
    "takeover",
    "event",
    "withdrawal",
    "applied",
]


class PastEntry(FrozenModel):
    """Something that happened to a pipeline.

    Attributes:
        at: When, UTC.
        kind: The kind of a recomputation, an event or a takeover, the outcome of a verdict, the
            name of a target or of a source; None for live batches and for a person's decision.
        increment: Its number; None where no increment is meant.
        event: The number of its event in the journal; None where none is meant.
        by: The person; None where no person did it.
        said: The reasons, or the figures, in a line.
    """

    at: datetime
    what: What
    kind: str | None = None
    increment: int | None = None
    event: int | None = None
    by: str | None = None
    said: str


def read_entries(layout: Layout) -> tuple[PastEntry, ...]:
    """Everything that happened, the oldest first."""
    order = get_args(What)
    found = sorted(_entries(layout), key=lambda one: (one.at, order.index(one.what)))
    return tuple(found)


def _entries(layout: Layout) -> Iterator[PastEntry]:
    snapshot, journal = Snapshot(layout), Journal(layout.journal)
    for increment in snapshot.increments:
        yield from _of_increment(increment)
    for event in journal.events():
        yield _of_event(event)
        yield from _of_targets(journal, event)
    for event, withdrawal in journal.withdrawals():
        yield _of_event(event)
        yield _of_withdrawal(event, withdrawal)
    generations = {snapshot.generation}
    for one in snapshot.takeovers:
        generations |= {one.generation, one.predecessor}
        yield PastEntry(
            at=one.born,
            what="takeover",
            kind=one.kind,
            event=one.seq,
            by=one.by,
            said=f"{one.generation} after {one.predecessor}: {one.reason}",
        )
    for generation in sorted(generations):
        yield from _of_generation(layout, generation)


def _of_increment(increment: Increment) -> Iterator[PastEntry]:
    sealed, number = increment.sealed, increment.number
    again = sealed.recomputation
    why = f"; {again.reason}" if again is not None and again.reason else ""
    yield PastEntry(
        at=sealed.sealed,
        what="sealed",
        kind=None if again is None else again.kind,
        increment=number,
        by=None if again is None else again.by,
        said=f"{_batches(sealed.covers.first, sealed.covers.last)} of {sealed.covers.generation}, "
        f"{counted(sealed.rows, 'row')}, {sealed.rejected:,} rejected{why}",
    )
    for verdict in increment.verdicts:
        yield PastEntry(
            at=verdict.judged,
            what="verdict",
            kind=verdict.outcome,
            increment=number,
            said="; ".join((*verdict.reasons, *verdict.warnings)) or f"by {verdict.engine}",
        )
    if increment.release is not None:
        release = increment.release
        yield PastEntry(
            at=release.released,
            what="release",
            increment=number,
            by=release.by,
            said=release.reason,
        )
    if increment.rejection is not None:
        rejection = increment.rejection
        yield PastEntry(
            at=rejection.rejected,
            what="rejection",
            increment=number,
            by=rejection.by,
            said=rejection.reason,
        )


def _of_event(event: Event) -> PastEntry:
    recomputation = event.recomputation
    partitions = None if recomputation is None else recomputation.partitions
    replaced = "" if partitions is None else f" in place of {partitions}"
    return PastEntry(
        at=event.at,
        what="event",
        kind=event.kind,
        increment=event.increment,
        event=event.seq,
        said=f"{counted(event.rows, 'row')}, {event.rejected:,} rejected{replaced}",
    )


def _of_targets(journal: Journal, event: Event) -> Iterator[PastEntry]:
    for target in journal.targets_of(event.seq):
        applied = journal.applied(event.seq, target)
        if applied is not None:
            yield PastEntry(
                at=applied.at,
                what="applied",
                kind=target,
                increment=event.increment,
                event=event.seq,
                said=f"version {applied.version}",
            )


def _of_withdrawal(event: Event, withdrawal: Withdrawal) -> PastEntry:
    return PastEntry(
        at=withdrawal.at,
        what="withdrawal",
        increment=event.increment,
        event=event.seq,
        by=withdrawal.by or None,
        said=withdrawal.reason,
    )


def _of_generation(layout: Layout, generation: str) -> Iterator[PastEntry]:
    for flush in flushes(layout, generation):
        yield PastEntry(
            at=flush.asked,
            what="flush",
            by=flush.by,
            said=f"batch {flush.batch} of {generation}: {flush.reason}",
        )
    folder = layout.ledger(generation) / "losses"
    for source in sorted(path.name for path in folder.iterdir()) if folder.is_dir() else ():
        for loss in Losses(layout, generation, source).all():
            yield PastEntry(
                at=loss.accepted,
                what="loss accepted",
                kind=source,
                by=loss.by,
                said=f"{counted(loss.records, 'record')}: {loss.reason}",
            )


def _batches(first: int, last: int) -> str:
    return f"batch {first}" if first == last else f"batches {first}-{last}"
