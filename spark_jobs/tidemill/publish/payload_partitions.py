"""The rows of a payload by partition, for a table that gets files of its own."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.file_formats.keyed_rows import KeyedFile, KeyedRows, rows_at, with_keys_of
from tidemill.publish.payload import Payload

# Files that are written at the same time; a process may not have many more open.
OPEN_FILES = 100

Values = tuple[str | None, ...]
"""The values of the partition columns, as text."""

LiveFile = TypeVar("LiveFile", bound=KeyedRows)


class Rest(NamedTuple, Generic[LiveFile]):
    """A file of the table of which a payload replaces some rows.

    Args:
        replaced: The numbers of these rows.
    """

    partition: Values
    file: LiveFile
    replaced: pa.Array


def rest_of(
    live: Iterable[tuple[Values, LiveFile]],
    touched: Collection[Values],
    payload: Payload,
    keys: pa.Schema,
) -> list[Rest[LiveFile]]:
    """The files of which a payload replaces rows of the same keys.

    Args:
        live: The partition and file of everything that readers see.
        touched: The partitions that the payload has rows in.
        keys: The key columns with their types.
    """
    near = [(partition, file) for partition, file in live if partition in touched]
    incoming = [KeyedFile(file.path, file.partition) for file in payload.files]
    found = with_keys_of([file for _, file in near], incoming, keys)
    return [Rest(*near[number], rows) for number, rows in found.items()]


def write_rows(
    writers: Mapping[Values, pq.ParquetWriter],
    columns: pa.Schema,
    payload: Payload,
    rest: Iterable[Rest[LiveFile]],
) -> None:
    """Write what stays of rewritten files, then the payload's rows.

    Args:
        writers: Partition -> its new file; rows of other partitions are passed over.
        columns: The columns of the new files.
    """
    for partition, file, replaced in rest:
        if partition in writers:
            for chunk in rows_at(file, replaced, columns, inverted=True):
                writers[partition].write_batch(chunk)
    for _, chunk in payload.read():
        for partition, rows in split(chunk, payload.partition_by):
            if partition in writers:
                values = [rows.column(field.name).cast(field.type) for field in columns]
                batch = pa.RecordBatch.from_arrays(values, schema=columns)
                writers[partition].write_batch(batch)


def partitions_of(payload: Payload) -> Iterator[Values]:
    """The partitions that a payload has rows in, each once."""
    seen: set[Values] = set()
    for _, chunk in payload.read():
        for values, _ in split(chunk, payload.partition_by):
            if values not in seen:
                seen.add(values)
                yield values


def split(
    chunk: pa.RecordBatch, partitions: Sequence[str]
) -> Iterator[tuple[Values, pa.RecordBatch]]:
    """The rows of a chunk by partition."""
    if not partitions:
        yield (), chunk
        return
    texts = [chunk.column(name).cast(pa.string()) for name in partitions]
    rows: dict[Values, list[int]] = {}
    for row, values in enumerate(zip(*(text.to_pylist() for text in texts), strict=True)):
        rows.setdefault(values, []).append(row)
    for values, numbers in rows.items():
        yield values, chunk.take(pa.array(numbers))
