"""Holds an increment that is empty or has too many rejected rows, whatever its suite says."""

from collections.abc import Sequence

from tidemill.contract.counted import counted
from tidemill.increments.increments import Sealed
from tidemill.ledger.batch import Batch
from tidemill.spark_logs.offset_log import is_of_files
from tidemill.spec.spec import Gate


def replaces_published(sealed: Sealed) -> bool:
    """Whether its rows take the place of published ones, so that an empty result removes them."""
    return sealed.recomputation is not None and sealed.recomputation.kind in ("backfill", "rebuild")


def reasons_from_counts(
    gate: Gate, sealed: Sealed, batches: Sequence[Batch], before: Sequence[Batch]
) -> list[str]:
    """The reasons to hold an increment, none where there is none.

    A transform may leave no row of what it read: a filter, an anti join, a total that does not
    change, a window that is still open. Such an increment passes; an empty delivery does not, nor
    one with nothing but rejected rows. A batch that Spark runs without data, after the watermark
    moved or to note where a topic begins, delivers nothing. What would only remove published rows
    never passes by itself.

    Args:
        gate: The spec's.
        before: The batch before them, if there is one.
    """
    if _nothing_came(batches, before) and not _only_removes(sealed):
        return []
    known = all(batch.rows_in is not None for batch in batches)
    read = sum(_rows_read(batch) for batch in batches)
    empty = _empty(gate, sealed, read, known=known)
    if empty is not None:
        return [empty]
    share = sealed.rejected / read if read else 0.0
    if share > gate.rejected.hold_above:
        # A driver died before it had said how many rows it read; some may wait in the state.
        most = "" if known else "up to "
        return [
            f"{most}{share:.1%} of the rows were rejected, and gate.rejected.hold_above is "
            f"{gate.rejected.hold_above:.1%}"
        ]
    return []


def _empty(gate: Gate, sealed: Sealed, read: int, *, known: bool) -> str | None:
    if gate.empty == "pass":
        return None
    if sealed.rejected and sealed.rejected >= read:
        return f"each row was rejected: {counted(sealed.rejected, 'row')}"
    if _only_removes(sealed):
        return "empty: it leaves no row, and would remove those that are published"
    if not read and known:
        return "empty: nothing was delivered but files without a row"
    if sealed.rows:
        return None
    if gate.empty == "hold_output":
        return f"empty: {counted(read, 'row')} came in, and the transform left none"
    return None


def _only_removes(sealed: Sealed) -> bool:
    return replaces_published(sealed) and not sealed.rows


def _nothing_came(batches: Sequence[Batch], before: Sequence[Batch]) -> bool:
    if before and all(batch.offsets == before[0].offsets for batch in batches):
        return True
    # An empty file is a delivery; of a topic there is none without records.
    return not any(batch.rows_in != 0 or _listed_files(batch) for batch in batches)


def _listed_files(batch: Batch) -> bool:
    return any(map(is_of_files, batch.offsets.values()))


def _rows_read(batch: Batch) -> int:
    """The rows that the batch read; at least those that it wrote where nothing counted them."""
    return batch.rows + batch.rejected if batch.rows_in is None else batch.rows_in
