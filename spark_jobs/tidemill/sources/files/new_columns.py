"""Columns of a file that the spec's schema does not name, and that Spark leaves out.

Formats that describe themselves are asked; of CSV the header is read and of JSON lines the first
one, where they are not packed and no longer than `MOST_BYTES`. What a later line brings, this does
not see.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from tidemill.contract.syntax.ddl import DdlType
from tidemill.file_formats.avro import avro_schema
from tidemill.sources.files.schema_check import is_by_position
from tidemill.sources.files.truncation import COMPRESSED
from tidemill.spec.sources.file import FileSource

MOST_BYTES = 2**16


def columns_not_named(path: Path, source: FileSource) -> list[str]:
    """The columns of a file, and the fields of its structs, that the schema does not name.

    Args:
        path: The input file.
        source: How Spark reads it.

    Raises:
        pyarrow.ArrowException: it is not a whole file of its format.
        NotAvro: the same of an Avro file.
        OSError: it cannot be read.
    """
    match source.format:
        case "parquet":
            return list(_of_arrow(pq.read_schema(path), source.types))
        case "orc":
            schema = orc.ORCFile(path).schema
            return [] if is_by_position(schema) else list(_of_arrow(schema, source.types))
        case "avro":
            return list(_of_avro(avro_schema(path), source.types))
        case "csv":
            header = _first_line(path, source) if source.is_on("header") else None
            return [] if header is None else list(_of_header(header, source))
        case "json" if not source.is_on("multiLine"):
            line = _first_line(path, source)
            return [] if line is None else list(_of_json(line, source.types))
    return []


def _of_arrow(
    found: Iterable[pa.Field], named: Mapping[str, DdlType], within: str = ""
) -> Iterator[str]:
    kinds = {name.lower(): kind for name, kind in named.items()}
    for field in found:
        kind = kinds.get(field.name.lower())
        if kind is None:
            yield f"{within}{field.name}"
        elif kind.name == "struct" and pa.types.is_struct(field.type):
            yield from _of_arrow(field.type.fields, kind.fields, f"{within}{field.name}.")


def _of_avro(schema: Any, named: Mapping[str, DdlType], within: str = "") -> Iterator[str]:
    kinds = {name.lower(): kind for name, kind in named.items()}
    fields = schema.get("fields", []) if isinstance(schema, Mapping) else []
    for field in fields:
        kind = kinds.get(field["name"].lower())
        if kind is None:
            yield f"{within}{field['name']}"
        elif kind.name == "struct":
            one_of = field["type"] if isinstance(field["type"], list) else [field["type"]]
            for record in one_of:
                yield from _of_avro(record, kind.fields, f"{within}{field['name']}.")


def _of_header(line: str, source: FileSource) -> Iterator[str]:
    separator = source.reader_option("sep") or source.reader_option("delimiter") or ","
    if len(separator) != 1:
        return
    named = {name.lower() for name in source.types}
    for name in next(csv.reader([line], delimiter=separator), []):
        if name.strip().lower() not in named:
            yield name.strip()


def _of_json(line: str, named: Mapping[str, DdlType]) -> Iterator[str]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        # It is Spark that says what becomes of a line that is not JSON.
        return
    yield from _of_value(value, named)


def _of_value(value: Any, named: Mapping[str, DdlType], within: str = "") -> Iterator[str]:
    for name, inner in value.items() if isinstance(value, dict) else ():
        # Spark tells the names of JSON fields apart by case.
        kind = named.get(name)
        if kind is None:
            yield f"{within}{name}"
        elif kind.name == "struct":
            yield from _of_value(inner, kind.fields, f"{within}{name}.")


def _first_line(path: Path, source: FileSource) -> str | None:
    """The first line; None where it is packed, too long, or in another encoding than is said."""
    if path.suffix in COMPRESSED:
        return None
    encoding = source.reader_option("encoding") or source.reader_option("charset") or "utf-8-sig"
    try:
        with path.open(encoding=encoding, newline=None) as content:
            line = content.readline(MOST_BYTES)
    except (UnicodeError, LookupError):
        return None
    return line.rstrip("\n") if len(line) < MOST_BYTES else None
