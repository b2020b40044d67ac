"""Whether a backfill would change nothing, as far as the books tell without Spark."""

import re
from collections.abc import Mapping

from tidemill.contract.layout import Layout
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.file_formats.delta_log import has_table
from tidemill.file_formats.delta_table import open_table
from tidemill.increments.snapshot import Snapshot
from tidemill.increments.swap_order import touches
from tidemill.journal.journal import Event
from tidemill.journal.partition_set import Partitions
from tidemill.journal.recomputation import Recomputation
from tidemill.journal.takeovers import lineage
from tidemill.ledger.batch import Batch
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.ledger import Ledger
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.spec import Spec


def published_before(snapshot: Snapshot, recomputation: Recomputation) -> int | None:
    """The published increment that holds just what a backfill would compute, or None.

    The same code computed its partitions from the same published batches, and nothing was
    published in them since.
    """
    partitions = recomputation.partitions
    if partitions is None:
        return None
    parts = [Partitions(columns=partitions.columns, values=(value,)) for value in partitions.values]
    found = {_holding(snapshot, recomputation, part) for part in parts or [partitions]}
    numbers = sorted(number for number in found if number is not None)
    return numbers[-1] if numbers and None not in found else None


def sealed_before(snapshot: Snapshot, recomputation: Recomputation) -> int | None:
    """The increment on its way to the table that holds what a backfill would compute, or None."""
    gone_out = snapshot.event_of
    return next(
        (
            one.number
            for one in snapshot.increments
            if one.number not in gone_out
            and not one.state.without_rows
            and one.sealed.recomputation is not None
            and one.sealed.recomputation.partitions == recomputation.partitions
            and _alike(one.sealed.recomputation, recomputation)
            and one.sealed.recomputation.seq == recomputation.seq
        ),
        None,
    )


def nothing_belongs_to(
    pipeline: Pipeline, snapshot: Snapshot, recomputation: Recomputation
) -> bool:
    """Whether the books prove that no row read so far belongs to the partitions of a backfill.

    They do where each row that was read is in a file, and no file holds rows of the partitions. A
    row that a transform left out, or whose partition could not be told, may belong there.
    """
    layout, partitions = snapshot.layout, recomputation.partitions
    if partitions is None or not _of_rows_read(pipeline.spec, partitions):
        return False
    if recomputation.tables:
        # What is read now may be other rows than were read then.
        return False
    note = read_note(layout, recomputation.generation)
    if note is None or note.pipeline_class is not PipelineClass.MAP:
        return False
    read = _batches_of(layout, recomputation)
    events = [event.stored_in for event in snapshot.events if event.kind != "reject"]
    put = [
        batch
        for place in events
        for batch in Ledger(layout, place.generation).batches(place.first, place.last)
    ]
    held = any(
        file.rows and (partitions.hold(file.partition) or _without_partition(file.partition))
        for batch in (*read, *put)
        for file in batch.outputs
        if not file.rejected
    )
    rejected = any(batch.rejected for batch in (*read, *put))
    return (
        all(map(_is_in_files, read))
        and not held
        and not (rejected and _hold_rejected(layout, partitions))
    )


def _hold_rejected(layout: Layout, partitions: Partitions) -> bool:
    """Whether a rejected row would be in some partitions, or may be: it says where it belongs."""
    if not has_table(layout.rejected):
        return True
    rows = open_table(layout.rejected).to_pyarrow_table(columns=["partition"])
    places = (dict(pairs or ()) for pairs in rows.column("partition").to_pylist())
    return any(partitions.hold(place) or _without_partition(place) for place in places)


def _holding(
    snapshot: Snapshot, recomputation: Recomputation, partitions: Partitions
) -> int | None:
    """The increment of the last event in some partitions, if that computed the same."""
    layout, events = snapshot.layout, reversed(snapshot.events)
    last = next((event for event in events if touches(layout, event, partitions)), None)
    if last is None or last.recomputation is None or last.recomputation.partitions is None:
        return None
    held = last.recomputation.partitions
    covered = held.columns == partitions.columns and {*partitions.values} <= {*held.values}
    same = covered and _alike(last.recomputation, recomputation)
    return last.increment if same and not _late_since(layout, last, recomputation) else None


def _late_since(layout: Layout, last: Event, recomputation: Recomputation) -> bool:
    """Whether late rows may have come since: they are in no event, and forgiven by a backfill."""
    note = read_note(layout, recomputation.generation)
    keeps = note is not None and note.pipeline_class is not PipelineClass.MAP
    return keeps and last.last != recomputation.last


def _alike(one: Recomputation, other: Recomputation) -> bool:
    same = (one.kind, one.code_hash, one.spec_hash, one.tables)
    return same == (other.kind, other.code_hash, other.spec_hash, other.tables)


def _batches_of(layout: Layout, recomputation: Recomputation) -> list[Batch]:
    """The batches whose input a backfill reads, also those before a fork."""
    found: list[Batch] = []
    last = recomputation.last
    for name, first in lineage(layout, recomputation.generation).items():
        found += Ledger(layout, name).batches(first, last)
        last = first - 1
    return found


def _of_rows_read(spec: Spec, partitions: Partitions) -> bool:
    """Whether a row's partition is told before the transform, which could move it otherwise."""
    known = {column for source in spec.sources.values() for column in source.columns}
    expressions = (spec.output.partition_by[column] for column in partitions.columns)
    return all(known.intersection(re.findall(r"\w+", sql)) for sql in expressions)


def _is_in_files(batch: Batch) -> bool:
    """Whether each row that a batch read is in one of its files."""
    return batch.rows_per_row != "any" and batch.rows_in == batch.rows + batch.rejected


def _without_partition(partition: Mapping[str, str | None]) -> bool:
    return not partition or None in partition.values()
