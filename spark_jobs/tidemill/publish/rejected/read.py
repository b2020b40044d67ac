"""Reads the rejected rows of one sink file, whatever its format.

Parquet, ORC and JSON hold `_reject` as a struct; CSV and Avro hold it as JSON in a column of text;
a file of text holds that JSON instead of the row (see `engine.output_format`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from tidemill.file_formats.avro import avro_texts
from tidemill.file_formats.text import Dialect, csv_rows, whole_lines
from tidemill.file_formats.written_format import WriteFormat

COLUMN = "_reject"
SAID = pa.struct(
    [
        ("reason", pa.string()),
        ("file", pa.string()),
        ("record", pa.string()),
        ("partition", pa.map_(pa.string(), pa.string())),
    ]
)


def reject_rows(path: Path, written: WriteFormat) -> pa.StructArray:
    """The rejected rows of a file: reason, source and record.

    Args:
        path: A file of rejected rows.
        written: How Spark wrote it.
    """
    if written.format == "parquet":
        return _combined(pq.ParquetFile(path).read(columns=[COLUMN]).column(COLUMN))
    if written.format == "orc":
        column = orc.ORCFile(path).read(columns=[COLUMN]).column(COLUMN)
        return pa.array(column.to_pylist(), SAID)
    return pa.array([_typed(said) for said in _said(path, written)], SAID)


def _said(path: Path, written: WriteFormat) -> Iterator[Any]:
    if written.format == "avro":
        for text in avro_texts(path, COLUMN):
            yield None if text is None else json.loads(text)
    elif written.format == "csv":
        dialect = Dialect(written)
        for row in csv_rows(path, written):
            yield json.loads(dialect.last_quoted(row))
    else:
        separator = written.option("lineSep", "\n").encode()
        for lines in whole_lines(path, separator):
            for line in lines.removesuffix(separator).split(separator):
                found = json.loads(line)
                yield found.get(COLUMN) if written.format == "json" else found


def _typed(said: dict[str, Any] | None) -> dict[str, Any] | None:
    """JSON leaves nulls out, and has no maps."""
    if said is None:
        return None
    partition = said.get("partition")
    return {
        **{name: said.get(name) for name in ("reason", "file", "record")},
        "partition": None if partition is None else list(partition.items()),
    }


def _combined(column: pa.ChunkedArray) -> pa.StructArray:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.StructArray) else combined.chunk(0)
