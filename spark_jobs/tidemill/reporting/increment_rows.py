"""The rows of one increment, good or rejected, whether or not anybody else can see them yet."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.contract.document import FrozenModel
from tidemill.contract.errors import UsageError
from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import arrow_source
from tidemill.file_formats.parquet_rows import python_values, row_chunks
from tidemill.file_formats.reader import REJECT
from tidemill.increments.rejected_rows import rejected_by_reason, rejected_rows
from tidemill.increments.snapshot import Snapshot
from tidemill.increments.status import IncrementStatus, read_increments
from tidemill.ledger.batch import Batch
from tidemill.ledger.books import Books
from tidemill.ledger.ledger import Ledger
from tidemill.reporting.increment_books import increment_books


class NotShown(UsageError):
    """The good rows of an increment are in files that only Spark reads; carries `format`."""


class IncrementRows(FrozenModel):
    """Some rows of an increment.

    Attributes:
        inputs: The input files that its batches read.
        rejected_by_reason: Reason -> rejected rows.
        books: What became of each row that its batches read.
        total: Rows of the kind that was asked for.
        rows: Column -> value.
    """

    increment: IncrementStatus
    inputs: tuple[Path, ...]
    rejected_by_reason: dict[str, int]
    books: Books
    total: int
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]


def read_increment_rows(
    layout: Layout, number: int, limit: int, *, rejected: bool = False
) -> IncrementRows:
    """The first rows of an increment.

    Args:
        number: The increment's number.
        limit: Most rows to return.
        rejected: Whether to return rejected rows, with reason, file and record.

    Raises:
        UsageError: there is no such increment.
        NotShown: its good rows are not in Parquet files.
    """
    snapshot = Snapshot(layout)
    sealed = snapshot.get(number).sealed
    ledger = Ledger(layout, sealed.generation)
    batches = ledger.batches(sealed.first, sealed.last)
    tables: Iterator[pa.Table]
    if rejected:
        tables = map(pa.Table.from_struct_array, rejected_rows(ledger, batches))
    elif sealed.net is not None:
        folder = snapshot.store.folder_of(number)
        tables = _rows((folder / file.path, {}) for file in sealed.net)
    else:
        tables = _rows(_good(ledger, batches))
    columns, rows = _first(tables, limit)
    return IncrementRows(
        increment=next(one for one in read_increments(snapshot) if one.increment == number),
        inputs=tuple(file.on_disk for batch in batches for file in batch.inputs),
        rejected_by_reason=rejected_by_reason(ledger, sealed),
        books=increment_books(layout, sealed),
        total=sealed.rejected if rejected else sealed.rows,
        columns=columns,
        rows=rows,
    )


def _good(ledger: Ledger, batches: Sequence[Batch]) -> Iterator[tuple[Path, dict[str, str | None]]]:
    written = ledger.written(batches)
    for batch in batches:
        how = written[batch.batch]
        for file in batch.outputs:
            if file.rejected or not file.rows:
                continue
            path = ledger.sink / file.path
            if how.format != "parquet":
                raise NotShown(
                    f"{path} is a file of the format {how.format}, and only Parquet is shown here.",
                    remedy="Look into the file, or try its input: "
                    f"tidemill preview {ledger.layout.name} --input FILE.",
                    format=how.format,
                )
            yield path, file.partition


def _rows(files: Iterator[tuple[Path, dict[str, str | None]]]) -> Iterator[pa.Table]:
    for path, partition in files:
        held = [field for field in pq.read_schema(arrow_source(path)) if field.name != REJECT]
        ours = [pa.field(name, pa.string()) for name in partition]
        for chunk in row_chunks(path, partition, pa.schema([*held, *ours])):
            yield pa.Table.from_batches([chunk])


def _first(
    tables: Iterator[pa.Table], limit: int
) -> tuple[tuple[str, ...], tuple[dict[str, Any], ...]]:
    columns: dict[str, None] = {}
    rows: list[dict[str, Any]] = []
    for table in tables:
        columns |= dict.fromkeys(table.column_names)
        values = [
            python_values(table[name].slice(0, limit - len(rows))) for name in table.column_names
        ]
        rows += [
            dict(zip(table.column_names, row, strict=True)) for row in zip(*values, strict=True)
        ]
        if len(rows) >= limit:
            break
    return tuple(columns), tuple(islice(rows, limit))
