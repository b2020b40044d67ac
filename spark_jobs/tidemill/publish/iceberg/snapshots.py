"""The head of an Iceberg table: what its snapshots and its properties say of our events.

Every commit of ours says in its snapshot's summary which event it is. Other engines may commit too,
so the head is the newest of our snapshots among the ancestors of the current one: a table that
was rolled back shows its older head. Where those ancestors have expired the table's properties say
it, which every commit of ours sets as well.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from tidemill.journal.journal import Event
from tidemill.publish.head import Head

PIPELINE = "tidemill.pipeline"
GENERATION = "tidemill.generation"
BATCH = "tidemill.batch"
EVENT = "tidemill.journal"
EPOCH = "tidemill.epoch"
FILES = "tidemill.files"
RUN = "tidemill.run_id"
INCREMENT = "tidemill.increment"
KIND = "tidemill.kind"
# In a table's properties alone: the snapshot that set them.
SNAPSHOT = "tidemill.snapshot"


def read_head(table: Table) -> Head | None:
    """The head of a table, None where no snapshot of ours leads to the current one."""
    kept = _head_in(table.properties)
    heads = (
        _head_in(one.summary.additional_properties) for one in _ancestors(table) if one.summary
    )
    found = next((head for head in heads if head is not None), None)
    if found is None:
        # An expiry may cut the ancestors off, with or without a trace.
        return None if _is_beside(table) else kept
    # A rollback takes rows back, and lets no older writer in again.
    return replace(found, epoch=max(found.epoch, kept.epoch if kept else 0))


def _ancestors(table: Table) -> Iterator[Snapshot]:
    """The current snapshot and those that lead to it, the newest first, as far as they are kept."""
    snapshot = table.current_snapshot()
    while snapshot is not None:
        yield snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = table.snapshot_by_id(parent) if parent is not None else None


def of_head(head: Head) -> dict[str, str]:
    """A head as properties of a snapshot or a table."""
    return {
        PIPELINE: head.pipeline,
        GENERATION: head.generation,
        BATCH: str(head.last_batch),
        EVENT: str(head.seq),
        EPOCH: str(head.epoch),
        FILES: head.files_hash,
        RUN: head.run_id,
    }


def of_event(event: Event, head: Head) -> dict[str, str]:
    """What the snapshot of an event says in its summary.

    Args:
        head: The table's head from then on.
    """
    return {**of_head(head), KIND: event.kind, INCREMENT: f"{event.increment:06d}"}


def _head_in(said: Mapping[str, str]) -> Head | None:
    if EVENT not in said:
        return None
    return Head(
        pipeline=said.get(PIPELINE, ""),
        generation=said.get(GENERATION, ""),
        last_batch=int(said.get(BATCH, -1)),
        seq=int(said[EVENT]),
        epoch=int(said.get(EPOCH, 0)),
        files_hash=said.get(FILES, ""),
        run_id=said.get(RUN, ""),
    )


def _is_beside(table: Table) -> bool:
    """Whether the snapshot that set the properties is there, and does not lead to the current."""
    return table.snapshot_by_id(int(table.properties.get(SNAPSHOT, -1))) is not None
