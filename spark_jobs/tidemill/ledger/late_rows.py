"""Late rows, which stateful operators dropped because the watermark had passed them.

Spark's own figure (`numRowsDroppedByWatermark`) counts what is left of them after a partial
aggregation, and forgets. Here every row is counted, and kept: beside each batch of a query with
state is how many there were, and where there were any, they themselves.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tidemill.contract.counted import counted
from tidemill.contract.document import Document, FrozenModel
from tidemill.contract.layout import Layout
from tidemill.file_formats.arrow_files import parquet_dataset
from tidemill.storage import documents

COLUMNS = ("operator", "source", "event_time", "watermark", "record")


class LateCount(FrozenModel):
    """The number of late rows at one operator.

    Attributes:
        operator: Such as `Aggregate`, as Spark's plan has it, with its place among those of its
            query that keep state, from the sink back.
        source: Where they came from; of several that were united before, all.
        rows: As the operator meets them: of a sliding window one for each window that is closed.
    """

    operator: str
    source: str
    rows: int


class LateRows(Document):
    """The late rows of one batch.

    Attributes:
        watermark_ms: That decided: of the batch before, in milliseconds since the epoch.
        counts: By operator and source, where there were any.
        unknown: Why it cannot be told; None where it is known.
    """

    batch: int
    watermark_ms: int
    counts: tuple[LateCount, ...] = ()
    unknown: str | None = None

    @property
    def rows(self) -> int | None:
        """All of them; None where it is unknown."""
        return sum(count.rows for count in self.counts) if self.unknown is None else None


class LateTotal(FrozenModel):
    """The late rows of some batches.

    Attributes:
        rows: All that are known of.
        batches: Batch -> rows, of those that had any.
        unknown: Batches of which it cannot be told.
    """

    rows: int
    batches: dict[int, int]
    unknown: tuple[int, ...] = ()

    def __str__(self) -> str:
        unknown = counted(len(self.unknown), "batch", "batches")
        return f"{self.rows:,} late" + (f", unknown in {unknown}" if self.unknown else "")


class LateLog:
    """The late rows of one generation."""

    def __init__(self, layout: Layout, generation: str) -> None:
        self.folder = layout.ledger(generation) / "late"

    def counted(self) -> set[int]:
        """The batches that were looked at."""
        return {number for number, _ in documents.numbered(self.folder)}

    def put(self, found: LateRows) -> LateRows:
        """Write down what was late in a batch, once; what is written down now."""
        return documents.put_if_absent(self.document(found.batch), found)

    def read(self) -> list[LateRows]:
        """The records, in order of batches."""
        found = (documents.read(path, LateRows) for _, path in documents.numbered(self.folder))
        return [late for late in found if late is not None]

    def total(self) -> int:
        """All late rows that are known of; only the documents of batches that had any are read."""
        had_any = (number for number, _ in documents.numbered(self.folder, ".parquet"))
        found = (documents.read(self.document(number), LateRows) for number in had_any)
        return sum(late.rows or 0 for late in found if late is not None)

    def rows_of(self, batch: int) -> Path:
        """The folder of a batch's late rows, as Parquet files with `COLUMNS`."""
        return self.folder / f"{batch:06d}.parquet"

    def rows(self, batches: Iterable[int], limit: int) -> list[dict[str, Any]]:
        """Late rows of some batches, in the order of these.

        Args:
            limit: Most rows to return.

        Returns:
            For each row its batch and `COLUMNS`: the operator, the source, the event time or the
            end of the window it belongs to (UTC), the watermark that this is not after, and what
            the operator was given, as JSON.
        """
        found: list[dict[str, Any]] = []
        for batch in batches:
            left = limit - len(found)
            if left <= 0:
                break
            rows = parquet_dataset(self.rows_of(batch)).head(left, columns=[*COLUMNS])
            found += ({"batch": batch, **row} for row in rows.to_pylist())
        return found

    def document(self, batch: int) -> Path:
        """The record of a batch's late rows."""
        return self.folder / f"{batch:06d}.json"


def counts_in(folder: Path) -> tuple[LateCount, ...]:
    """The counts of rows that are in Parquet files of `COLUMNS`."""
    keys = ["operator", "source"]
    rows = parquet_dataset(folder).to_table(columns=keys)
    found = rows.group_by(keys).aggregate([([], "count_all")]).to_pylist()
    counts = (
        LateCount(operator=one["operator"], source=one["source"], rows=one["count_all"])
        for one in found
    )
    return tuple(sorted(counts, key=lambda count: (count.operator, count.source)))


def late_total(found: Sequence[LateRows]) -> LateTotal:
    """The late rows of some batches, in all."""
    rows = {late.batch: late.rows for late in found if late.rows}
    return LateTotal(
        rows=sum(rows.values()),
        batches=rows,
        unknown=tuple(late.batch for late in found if late.unknown is not None),
    )
