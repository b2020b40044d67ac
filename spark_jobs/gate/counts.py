"""Why an increment is held whatever its suite says: empty is no pass, nor is too much waste."""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.contract.spec import Gate
from spark_jobs.ledger.batch import Batch
from spark_jobs.ledger.increments import Sealed


def reasons_from_counts(
    gate: Gate, sealed: Sealed, batches: Sequence[Batch], before: Sequence[Batch]
) -> list[str]:
    """The reasons, none where there is none.

    Batches for which nothing came are no empty delivery: Spark runs one without data after the
    watermark moved, or to note where a topic begins. An increment of only such batches passes.

    Args:
        gate: The spec's.
        sealed: The increment.
        batches: Its batches.
        before: The batch before them, if there is one.
    """
    if _nothing_came(batches, before):
        return []
    read = _rows_read(sealed, batches)
    if not read:
        return ["empty: no row was committed, and empty is never a pass"]
    if sealed.rejected >= read:
        return [f"all {sealed.rejected:,} rows were rejected"]
    if not sealed.rows:
        return [f"empty: {read:,} rows were read, and none of them changed anything"]
    share = sealed.rejected / read
    if share > gate.rejected.hold_above:
        return [
            f"{share:.1%} of the rows were rejected, and gate.rejected.hold_above is "
            f"{gate.rejected.hold_above:.1%}"
        ]
    return []


def _nothing_came(batches: Sequence[Batch], before: Sequence[Batch]) -> bool:
    if before and all(batch.offsets == before[0].offsets for batch in batches):
        return True
    # An empty file is a delivery; of a topic there is none without records.
    return not any(batch.rows_in != 0 or _listed_files(batch) for batch in batches)


def _listed_files(batch: Batch) -> bool:
    offsets = batch.offsets.values()
    return any(isinstance(offset, dict) and "logOffset" in offset for offset in offsets)


def _rows_read(sealed: Sealed, batches: Sequence[Batch]) -> int:
    """The rows that the rejected ones are a share of."""
    if sealed.net is None:
        return sealed.rows + sealed.rejected
    # Of an aggregation there are fewer rows than went into it.
    return sum(
        batch.rows + batch.rejected if batch.rows_in is None else batch.rows_in for batch in batches
    )
