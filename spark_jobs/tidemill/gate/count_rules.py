"""Holds an increment that is empty or has too many rejected rows, whatever its suite says."""

from collections.abc import Sequence

from tidemill.contract.pipeline_class import PipelineClass
from tidemill.increments.increments import Sealed
from tidemill.ledger.batch import Batch
from tidemill.spec.spec import Gate


def reasons_from_counts(
    gate: Gate,
    sealed: Sealed,
    batches: Sequence[Batch],
    before: Sequence[Batch],
    kind: PipelineClass = PipelineClass.MAP,
) -> list[str]:
    """The reasons, none where there is none.

    Batches for which nothing came are not empty delivery: Spark runs one without data after the
    watermark moved, or to note where a topic begins. An increment of only such batches passes.

    Args:
        gate: The spec's.
        before: The batch before them, if there is one.
        kind: The pipeline's class. With state, a later batch may emit what this one reads.
    """
    # Rows may all be late, or wait for others; only totals that never close change with each row.
    totals = sealed.net is not None and kind is PipelineClass.UNBOUNDED
    keeps = kind is not PipelineClass.MAP and not totals
    if _nothing_came(batches, before):
        return []
    read = _rows_read(sealed, batches, of_state=keeps or sealed.net is not None)
    if keeps and any(batch.rows_in is None for batch in batches):
        return _reasons_of_some(gate, sealed, read)
    if not read:
        return ["empty: no row was committed, and empty is never a pass"]
    if sealed.rejected >= read:
        return [f"all {sealed.rejected:,} rows were rejected"]
    if not sealed.rows and not keeps:
        return [f"empty: {read:,} rows were read, and none of them changed anything"]
    share = sealed.rejected / read
    if share > gate.rejected.hold_above:
        return [
            f"{share:.1%} of the rows were rejected, and gate.rejected.hold_above is "
            f"{gate.rejected.hold_above:.1%}"
        ]
    return []


def _reasons_of_some(gate: Gate, sealed: Sealed, known: int) -> list[str]:
    """The same where a driver died before it had said how many rows it read: some wait in state."""
    if not sealed.rejected or sealed.rejected / known <= gate.rejected.hold_above:
        return []
    return [
        f"{sealed.rejected:,} rows were rejected, of a number that is not known: a driver died "
        "before it had said how many it read"
    ]


def _nothing_came(batches: Sequence[Batch], before: Sequence[Batch]) -> bool:
    if before and all(batch.offsets == before[0].offsets for batch in batches):
        return True
    # An empty file is a delivery; of a topic there is none without records.
    return not any(batch.rows_in != 0 or _listed_files(batch) for batch in batches)


def _listed_files(batch: Batch) -> bool:
    offsets = batch.offsets.values()
    return any(isinstance(offset, dict) and "logOffset" in offset for offset in offsets)


def _rows_read(sealed: Sealed, batches: Sequence[Batch], *, of_state: bool) -> int:
    """The rows that the rejected ones are a share of."""
    if not of_state:
        return sealed.rows + sealed.rejected
    # An aggregation emits fewer rows than it reads, some of them from earlier batches.
    return sum(
        batch.rows + batch.rejected if batch.rows_in is None else batch.rows_in for batch in batches
    )
