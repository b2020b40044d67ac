"""Values as JSON: rows as objects, and columns of arrays, maps and structs as text.

As Spark's `to_json` writes them: a map is an object with its keys as text, a timestamp is ISO 8601
in UTC, a decimal keeps its digits, bytes are base64, NaN and infinity are text. Null is written,
so that a reader can tell it from a column that is not there.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any

import pyarrow as pa


def is_nested(kind: pa.DataType) -> bool:
    """Whether a column of this type is written as JSON where there is no type of its own for it."""
    return bool(pa.types.is_nested(kind))


def texts(column: pa.Array) -> pa.Array:
    """A column as JSON, value by value; null stays null."""
    kind = column.type
    found = (None if value is None else to_json(value, kind) for value in column.to_pylist())
    return pa.array(found, pa.string())


def objects(chunk: pa.RecordBatch, columns: Sequence[str]) -> Iterator[str]:
    """The rows of a chunk as JSON objects of some columns, in the order of the names."""
    kinds = [chunk.schema.field(name).type for name in columns]
    values = [chunk.column(name).to_pylist() for name in columns]
    names = [json.dumps(name, ensure_ascii=False) for name in columns]
    for row in range(chunk.num_rows):
        members = (
            f"{name}:{to_json(column[row], kind)}"
            for name, column, kind in zip(names, values, kinds, strict=True)
        )
        yield "{" + ",".join(members) + "}"


def to_json(value: Any, kind: pa.DataType) -> str:
    """A value of an Arrow type as JSON."""
    if value is None:
        return "null"
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        pairs = ((field.name, value[field.name], field.type) for field in fields)
        return _object(pairs)
    if pa.types.is_map(kind):
        return _object((_key(key, kind.key_type), item, kind.item_type) for key, item in value)
    if pa.types.is_nested(kind):
        return "[" + ",".join(to_json(item, kind.value_type) for item in value) + "]"
    return _scalar(value)


def _object(members: Any) -> str:
    written = (
        f"{json.dumps(name, ensure_ascii=False)}:{to_json(value, kind)}"
        for name, value, kind in members
    )
    return "{" + ",".join(written) + "}"


def _key(key: Any, kind: pa.DataType) -> str:
    text = to_json(key, kind)
    return json.loads(text) if text.startswith('"') else text


def _scalar(value: Any) -> str:
    if isinstance(value, bool | int):
        return json.dumps(value)
    if isinstance(value, float):
        return repr(value) if isfinite(value) else f'"{_NOT_FINITE[repr(value)]}"'
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return json.dumps(base64.b64encode(value).decode("ascii"))
    return json.dumps(plain(value), ensure_ascii=False)


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def plain(value: str | date | datetime) -> str:
    """A text as it is, a date or time in ISO 8601."""
    if isinstance(value, datetime):
        text = value.replace(tzinfo=None).isoformat(timespec="microseconds")
        return text + ("Z" if value.tzinfo else "")
    return value.isoformat() if isinstance(value, date) else value
