"""Keeps a swap from removing rows that were published after it was computed.

Every target applies the journal's events in the order of their numbers. A swap knows the last
event that it was computed with, `recomputation.seq`. If a later event touches its partitions, the
swap would remove that event's rows: it is not added to the journal, and is computed again.

A writer that was paused after this check may still add its event. So the check is repeated before a
target applies an event, and an event that came too late is withdrawn.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import arrow_source
from tidemill.increments.increment import Increment
from tidemill.increments.increments import Increments
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.journal import Event
from tidemill.journal.partition_set import Partitions
from tidemill.journal.recomputation import Recomputation
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.run_kinds import EVENT_OF

# Arrow writes these types as text in the same way as Spark names directories.
PLAIN = (pa.types.is_string, pa.types.is_large_string, pa.types.is_date, pa.types.is_integer)


def conflicting_event(
    layout: Layout, recomputation: Recomputation, events: Iterable[Event]
) -> Event | None:
    """The first event whose rows a swap would remove; None where it may be added to the journal.

    Args:
        recomputation: The recomputation that the swap publishes.
        events: The events before the swap, in order.
    """
    later = (event for event in events if event.seq > recomputation.seq)
    if EVENT_OF[recomputation.kind] == "replace":
        return next(later, None)
    partitions = recomputation.partitions
    if partitions is None:
        # It removes nothing; but a table that was replaced since has its rows already.
        return next((event for event in later if event.kind == "replace"), None)
    return next((event for event in later if touches(layout, event, partitions)), None)


def lost_race(snapshot: Snapshot, increment: Increment) -> str | None:
    """The reason why a recomputed increment may not be added to the journal, and must be again.

    Args:
        increment: One that is not published in the order of batches, and not in the journal.

    Returns:
        A phrase; None where it may be added.
    """
    recomputation = increment.sealed.recomputation
    if recomputation is None:
        return None
    event = conflicting_event(snapshot.layout, recomputation, snapshot.events)
    if event is not None:
        return f"increment {event.increment:06d} went out meanwhile and touches what it replaces"
    of_live_batches = recomputation.kind == "backfill"
    if of_live_batches and recomputation.last > snapshot.last_published(recomputation.generation):
        return "it was computed with batches that were withdrawn from the journal since"
    return None


def overtaken(snapshot: Snapshot, event: Event, events: Sequence[Event]) -> str | None:
    """The reason why an event can never be applied: its writer decided too late.

    Args:
        event: An event of the journal.
        events: The events before it, in order.

    Returns:
        A phrase; None where it can go out.
    """
    if event.in_order:
        other = snapshot.has_batches_of(event, events)
        if other is not None:
            return f"event {other.seq}, of increment {other.increment:06d}, has its batches"
    elif event.recomputation is not None:
        other = conflicting_event(snapshot.layout, event.recomputation, events)
        if other is not None:
            return (
                f"event {other.seq}, of increment {other.increment:06d}, came before it and "
                "touches what it replaces"
            )
    if snapshot.get(event.increment).superseded:
        return f"another has taken the place of increment {event.increment:06d}"
    return None


def touches(layout: Layout, event: Event, partitions: Partitions) -> bool:
    """Whether an event added rows to some partitions or removed rows there, or may have done so.

    Args:
        event: An event of the pipeline's journal.
    """
    if event.kind == "reject":
        return False
    if event.kind == "replace":
        return True
    removed = event.recomputation.partitions if event.recomputation else None
    if removed is not None:
        return removed.overlap(partitions)
    increments = Increments(layout.increments)
    net = increments.sealed(event.increment).net
    if net is not None:
        folder = increments.folder_of(event.increment)
        return any(_holds_rows_of(folder / file.path, partitions) for file in net)
    stored = event.stored_in
    return any(
        partitions.hold(file.partition)
        for batch in Ledger(layout, stored.generation).batches(stored.first, stored.last)
        for file in batch.outputs
        if file.rows and not file.rejected
    )


def _holds_rows_of(path: Path, partitions: Partitions) -> bool:
    """Whether a file that holds its partition columns has rows of some partitions."""
    schema = pq.read_schema(arrow_source(path))
    columns = [*partitions.columns]
    plain = all(any(is_plain(schema.field(c).type) for is_plain in PLAIN) for c in columns)
    if not plain or not columns:
        return True
    found = pq.read_table(arrow_source(path), columns=columns).group_by(columns).aggregate([])
    text = found.cast(pa.schema([(column, pa.string()) for column in columns]))
    return any(partitions.hold(row) for row in text.to_pylist())
