"""The payload of an event: exact files, their columns, and how they change a target."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tidemill.file_formats.parquet import Footer, read_footers
from tidemill.file_formats.parquet_rows import row_chunks
from tidemill.file_formats.written_format import PARQUET, WriteFormat
from tidemill.spec.output import OutputMode


@dataclass(frozen=True)
class PayloadFile:
    """One file of published rows.

    Args:
        batch: That wrote it; the last of the increment where rows of several were merged.
        partition: Partition column -> value as it is in the directory's name, None for null; empty
            where the file itself holds all columns.
        written: Its format; of any other than Parquet only a list of files can be made.
        footer: Its footer where the audit has read it; None where it is not read yet.
    """

    path: Path
    rows: int
    batch: int
    partition: Mapping[str, str | None]
    written: WriteFormat = PARQUET
    footer: Footer | None = None


@dataclass(frozen=True)
class Payload:
    """The good rows of one event.

    Args:
        generation: Such as `live-0001`; of rows that were computed again the live one they are of.
        schema: The published columns with partition columns, in the table's order.
        mode: `append` adds rows, `update` replaces those of the same keys, `complete` all.
        keys: `output.keys`.
        files: Audited: what they hold is what was judged. Files without a row are not among them.
        offsets: Source -> where the event ends in it, for a target's history.
        merged: Whether the rows of several batches were merged into these files, so that they are
            none of the sink's own.
    """

    generation: str
    schema: pa.Schema
    partition_by: tuple[str, ...]
    mode: OutputMode
    keys: tuple[str, ...]
    files: tuple[PayloadFile, ...]
    offsets: Mapping[str, Any]
    merged: bool = False

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    def footers(self) -> tuple[Footer, ...]:
        """The footers of the files, which are Parquet, in their order."""
        unread = [file.path for file in self.files if file.footer is None]
        read = iter(read_footers(unread) if unread else ())
        return tuple(file.footer or next(read) for file in self.files)

    def read(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batch id and rows, in chunks, with exactly the columns of `schema`.

        Always in the same order, so that a row's place in the payload is a name for it.
        """
        for file in self.files:
            for chunk in row_chunks(file.path, file.partition, self.schema):
                yield file.batch, chunk
