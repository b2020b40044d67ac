"""Finds rows of several files with the same keys.

DuckDB sees keys, file numbers and row numbers only. It groups more rows than fit into memory, and
the rows themselves never leave Arrow, so that what is kept is what was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from tidemill.file_formats.parquet_rows import python_values, row_chunks

if TYPE_CHECKING:
    import duckdb

# The keys are one struct, so that no column's name gets into a query, and null equals null.
TWICE = """
    SELECT any_value(file), any_value(row), count(*)
    FROM keyed GROUP BY key HAVING count(*) > 1 LIMIT 1
"""
LAST = """
    SELECT file, row FROM (
        SELECT file, row,
            row_number() OVER (PARTITION BY key ORDER BY file DESC, row DESC) AS place
        FROM keyed
    ) WHERE place = 1 ORDER BY file, row
"""
SHARED = """
    SELECT keyed.file, keyed.row
    FROM keyed SEMI JOIN other ON keyed.key IS NOT DISTINCT FROM other.key
    ORDER BY keyed.file, keyed.row
"""
Places = Mapping[int, pa.Array]
"""File number -> row numbers within it, ascending."""


class KeyedRows(Protocol):
    """A file whose rows have keys."""

    def chunks(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Its rows, always in the same order, with exactly the columns of a schema."""
        ...


@dataclass(frozen=True)
class KeyedFile:
    """A Parquet file on a local disk whose rows have keys.

    Args:
        partition: Partition column -> value as it is in the directory's name.
    """

    path: Path
    partition: Mapping[str, str | None]

    def chunks(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        return row_chunks(self.path, self.partition, schema)


@dataclass(frozen=True)
class Doubled:
    """Two rows or more with one key.

    Args:
        key: Key column -> value.
        rows: How many have it.
    """

    key: Mapping[str, Any]
    rows: int


def doubled(files: Sequence[KeyedRows], keys: pa.Schema) -> Doubled | None:
    """A key that several rows have, or None where every row has its own.

    Args:
        keys: The key columns with their types.
    """
    with _connect() as connection:
        connection.register("keyed", _keyed(files, keys))
        found = connection.execute(TWICE).fetchone()
    if found is None:
        return None
    file, row, rows = found
    return Doubled(_key_at(files[file], row, keys), rows)


def last_of_each(files: Sequence[KeyedRows], keys: pa.Schema) -> Places:
    """For each key the last row that has it, in the order of the files."""
    with _connect() as connection:
        connection.register("keyed", _keyed(files, keys))
        return _places(connection, LAST)


def with_keys_of(
    files: Sequence[KeyedRows], others: Sequence[KeyedRows], keys: pa.Schema
) -> Places:
    """The rows whose key a row of other files has too."""
    with _connect() as connection:
        connection.register("incoming", _keyed(others, keys))
        connection.execute("CREATE TEMP TABLE other AS SELECT key FROM incoming")
        connection.register("keyed", _keyed(files, keys))
        return _places(connection, SHARED)


def rows_at(
    file: KeyedRows, places: pa.Array, schema: pa.Schema, *, inverted: bool = False
) -> Iterator[pa.RecordBatch]:
    """The rows at some places of a file, or all others, in their order."""
    numbers = places.to_numpy(zero_copy_only=False)
    start = 0
    for chunk in file.chunks(schema):
        end = start + chunk.num_rows
        here = numbers[np.searchsorted(numbers, start) : np.searchsorted(numbers, end)] - start
        wanted = np.full(chunk.num_rows, inverted)
        wanted[here] = not inverted
        found = chunk.filter(pa.array(wanted))
        if found.num_rows:
            yield found
        start = end


def _keyed(files: Sequence[KeyedRows], keys: pa.Schema) -> pa.RecordBatchReader:
    fields = [("key", pa.struct(list(keys))), ("file", pa.int64()), ("row", pa.int64())]
    schema = pa.schema(fields)
    return pa.RecordBatchReader.from_batches(schema, _numbered(files, keys, schema))


def _numbered(
    files: Sequence[KeyedRows], keys: pa.Schema, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for number, file in enumerate(files):
        start = 0
        for chunk in file.chunks(keys):
            rows = chunk.num_rows
            columns = [
                pa.StructArray.from_arrays(chunk.columns, fields=list(keys)),
                pa.repeat(pa.scalar(number, pa.int64()), rows),
                _numbers(start, rows),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)
            start += rows


def _numbers(start: int, count: int) -> pa.Array:
    return pa.array(range(start, start + count), pa.int64())


def _places(connection: duckdb.DuckDBPyConnection, query: str) -> Places:
    found = connection.sql(query).arrow().read_all()
    files, starts = np.unique(found["file"].to_numpy(), return_index=True)
    bounds = pairwise([*starts, found.num_rows])
    rows = found["row"].combine_chunks()
    return {
        int(file): rows.slice(start, end - start)
        for file, (start, end) in zip(files, bounds, strict=True)
    }


def _key_at(file: KeyedRows, row: int, keys: pa.Schema) -> Mapping[str, Any]:
    for chunk in file.chunks(keys):
        if row < chunk.num_rows:
            return _row(chunk, row)
        row -= chunk.num_rows
    raise IndexError(row)


def _row(chunk: pa.RecordBatch, row: int) -> Mapping[str, Any]:
    one = chunk.slice(row, 1)
    return {name: python_values(one.column(name))[0] for name in one.schema.names}


def _connect() -> duckdb.DuckDBPyConnection:
    import duckdb

    # What does not fit into memory would else go to the working directory.
    return duckdb.connect(config={"temp_directory": gettempdir()})
