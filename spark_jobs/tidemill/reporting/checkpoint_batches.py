"""The newest batches of a checkpoint: what each read and wrote, and what became of it."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from tidemill.contract.document import FrozenModel
from tidemill.contract.layout import Layout
from tidemill.increments.snapshot import Snapshot
from tidemill.increments.status import IncrementState, IncrementStatus, read_increments
from tidemill.journal.takeovers import lineage
from tidemill.ledger.batch import Batch
from tidemill.ledger.ledger import Ledger
from tidemill.spark_logs.checkpoint import Checkpoint, read_checkpoint

# `planned` and `committed` are Spark's words; the ledger knows a batch once it is recorded.
BatchState = Literal["planned", "committed", "recorded"] | IncrementState


class CheckpointBatch(FrozenModel):
    """A batch, from its run to the event in which it went out.

    Attributes:
        state: The increment's, once the batch is in one.
        run_id: The run whose query made it; None until it is recorded.
        committed: When it was recorded, UTC.
        offsets: Source -> Spark's offset after the batch.
        files_read: Input files; 0 for sources that have none.
        files_written: Data files in the sink.
        rows_in: Rows read; None where they were not counted.
        rejected: Rows that were rejected; as `rows` None until the batch is recorded.
    """

    batch: int
    state: BatchState
    run_id: str | None = None
    committed: datetime | None = None
    offsets: Mapping[str, Any]
    files_read: int = 0
    files_written: int = 0
    rows_in: int | None = None
    rows: int | None = None
    rejected: int | None = None
    increment: int | None = None
    verdict: str | None = None
    event: int | None = None


class CheckpointStanding(FrozenModel):
    """The live checkpoint, and its newest batches in order.

    Attributes:
        goes_on_from: The generation whose batches come before its own; None for none.
        first: The first batch of its own.
        planned: The last batch that Spark planned; None before the first.
        committed: The last one that Spark committed.
        recorded: The last one in the ledger.
    """

    generation: str
    query_id: str | None
    goes_on_from: str | None = None
    first: int = 0
    planned: int | None
    committed: int | None
    recorded: int | None
    batches: tuple[CheckpointBatch, ...]


def read_checkpoint_batches(layout: Layout, limit: int) -> CheckpointStanding:
    """The checkpoint of the live generation.

    Args:
        limit: The number of batches, the newest.

    Raises:
        Refused: a log of Spark's or a document is damaged.
    """
    snapshot = Snapshot(layout)
    generation = snapshot.generation
    checkpoint = read_checkpoint(layout.checkpoint(generation))
    ledger = Ledger(layout, generation)
    recorded = ledger.latest()
    increments = [one for one in read_increments(snapshot) if one.recomputation in (None, "redo")]
    found = [
        _recorded(batch, increments)
        for batch in ledger.batches(max(0, recorded - limit + 1), recorded)
    ]
    found += _not_recorded(checkpoint, recorded)
    continued = lineage(layout, generation)
    _, before, *_ = (*continued, None)
    return CheckpointStanding(
        generation=generation,
        query_id=checkpoint.query_id,
        goes_on_from=before,
        first=continued[generation],
        planned=checkpoint.latest_offsets,
        committed=checkpoint.latest_commit,
        recorded=None if recorded < 0 else recorded,
        batches=tuple(found[-limit:]),
    )


def _recorded(batch: Batch, increments: Iterable[IncrementStatus]) -> CheckpointBatch:
    # A superseded increment covers batches that a newer one covers too.
    of = [one for one in increments if _covers(one, batch)]
    of.sort(key=lambda one: (one.state != "superseded", one.increment))
    last = of[-1] if of else None
    return CheckpointBatch(
        batch=batch.batch,
        state="recorded" if last is None else last.state,
        run_id=batch.run_id,
        committed=batch.committed,
        offsets=batch.offsets,
        files_read=len(batch.inputs),
        files_written=len(batch.outputs),
        rows_in=batch.rows_in,
        rows=batch.rows,
        rejected=batch.rejected,
        increment=None if last is None else last.increment,
        verdict=None if last is None else last.verdict,
        event=None if last is None else last.event,
    )


def _covers(one: IncrementStatus, batch: Batch) -> bool:
    return one.generation == batch.generation and one.first <= batch.batch <= one.last


def _not_recorded(checkpoint: Checkpoint, recorded: int) -> list[CheckpointBatch]:
    """Batches that Spark knows and the ledger does not; those of a driver at work or killed."""
    return [
        CheckpointBatch(
            batch=number,
            state="committed" if number in checkpoint.commits else "planned",
            offsets=dict(checkpoint.offsets[number].sources),
        )
        for number in sorted(checkpoint.offsets)
        if number > recorded
    ]
