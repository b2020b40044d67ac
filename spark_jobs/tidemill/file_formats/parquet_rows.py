"""The rows of one Parquet file in chunks, with the partition columns of its directory."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

# Rows that are read at once.
CHUNK_ROWS = 65_536


def row_chunks(
    path: Path, partition: Mapping[str, str | None], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The rows of a file in their order, with exactly the columns of a schema.

    Args:
        partition: Partition column -> value as it is in the directory's name, None for null.
        schema: What to read; a column that neither file nor directory has is null.
    """
    with path.open("rb") as file:
        yield from chunks_of(file, partition, schema)


def chunks_of(
    file: Any, partition: Mapping[str, str | None], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """As `row_chunks`, of a file that Arrow reads; workers of a cluster run it without Tidemill."""
    with pq.ParquetFile(file) as parquet:
        names = [name for name in parquet.schema_arrow.names if name in schema.names]
        for found in parquet.iter_batches(batch_size=CHUNK_ROWS, columns=names):
            if found.num_rows:
                columns = [_column(field, found, partition) for field in schema]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _column(
    field: pa.Field, found: pa.RecordBatch, partition: Mapping[str, str | None]
) -> pa.Array:
    if field.name in partition:
        value = pa.scalar(partition[field.name], pa.string())
        return pa.repeat(value, found.num_rows).cast(field.type)
    if field.name not in found.schema.names:
        return pa.nulls(found.num_rows, field.type)
    return found.column(field.name).cast(field.type)


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column; as text where Python has no such date, as after the year 9999."""
    try:
        return [*column.to_pylist(maps_as_pydicts="lossy")]
    except (ValueError, OverflowError):
        return [*column.cast(pa.string()).to_pylist()]
