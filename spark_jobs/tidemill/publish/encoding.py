"""Encodes rows for a topic, and nested columns for a database, as JSON or text.

As Spark's `to_json` writes them: a map is an object with its keys as text, a timestamp is ISO 8601
in UTC, also in years that Python does not have (`+12026-01-01`), a decimal keeps its digits, bytes
are base64, NaN and infinity are text. Null is written,
so that a reader can tell it from a column that is not there.
"""

import base64
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache, partial
from json.encoder import encode_basestring as quoted
from math import isfinite
from typing import Any

import pyarrow as pa

from tidemill.contract.errors import UsageError

# Encodes a value that is not null.
Encoder = Callable[[Any], str]
EPOCH, DAYS_OF_400_YEARS, LAST_YEAR = date(1970, 1, 1), 146_097, 9999
A_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
NOT_FINITE = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


class TypeUnfit(UsageError):
    """A column's type has no counterpart; carries `type_given`."""


def type_unfit(kind: pa.DataType, database: str) -> TypeUnfit:
    return TypeUnfit(
        f"{database} has no type for columns of type {kind}.",
        remedy="Cast the column in the transform.",
        type_given=str(kind),
    )


def is_nested(kind: pa.DataType) -> bool:
    """Whether a column of this type is written as JSON where there is no type of its own for it."""
    return bool(pa.types.is_nested(kind))


def json_texts(column: pa.Array) -> pa.Array:
    """A column as JSON, value by value; null stays null."""
    encode = json_encoder(column.type)
    found = (None if value is None else encode(value) for value in _values(column))
    return pa.array(found, pa.string())


def plain_texts(column: pa.Array) -> Iterator[str | None]:
    """A column as text without quotes, value by value; null stays null."""
    encode = plain_encoder(column.type)
    return (None if value is None else encode(value) for value in _values(column))


def json_objects(chunk: pa.RecordBatch, columns: Sequence[str]) -> Iterator[str]:
    """The rows of a chunk as JSON objects of some columns, in the order of the names."""
    members = []
    for name in columns:
        column = chunk.column(name)
        start, encode = f"{quoted(name)}:", or_null(json_encoder(column.type))
        members.append([start + encode(value) for value in _values(column)])
    return ("{" + ",".join(row) + "}" for row in zip(*members, strict=True))


def csv_lines(chunk: pa.RecordBatch, columns: Sequence[str]) -> Iterator[str]:
    """The rows of a chunk as CSV without a line end: null is nothing, an empty text is `""`."""
    fields = [map(_in_csv, plain_texts(chunk.column(name))) for name in columns]
    return (",".join(row) for row in zip(*fields, strict=True))


def json_encoder(kind: pa.DataType) -> Encoder:
    """Writes values of an Arrow type as JSON.

    Raises:
        TypeUnfit: no published column is of such a type.
    """
    types = pa.types
    if types.is_struct(kind):
        return _struct(kind)
    if types.is_map(kind):
        return _map(kind)
    if types.is_nested(kind):
        item = or_null(json_encoder(kind.value_type))
        return lambda values: "[" + ",".join(map(item, values)) + "]"
    if types.is_boolean(kind):
        return lambda value: "true" if value else "false"
    if types.is_integer(kind):
        return str
    if types.is_floating(kind):
        return lambda value: repr(value) if isfinite(value) else NOT_FINITE[repr(value)]
    if types.is_decimal(kind):
        return _digits
    if not (types.is_string(kind) or types.is_binary(kind) or types.is_temporal(kind)):
        raise type_unfit(kind, "JSON")
    plain = plain_encoder(kind)
    return lambda value: str(quoted(plain(value)))


def plain_encoder(kind: pa.DataType) -> Encoder:
    """Writes values of an Arrow type as JSON has them, but texts without quotes."""
    types = pa.types
    if types.is_string(kind):
        return str
    if types.is_binary(kind):
        return lambda value: base64.b64encode(value).decode("ascii")
    if types.is_timestamp(kind):
        return partial(_instant, a_second=A_SECOND[kind.unit], zone="Z" if kind.tz else "")
    if types.is_date32(kind):
        return _day
    if types.is_floating(kind):
        return lambda value: repr(value) if isfinite(value) else NOT_FINITE[repr(value)].strip('"')
    return json_encoder(kind)


def or_null(encode: Encoder) -> Encoder:
    return lambda value: "null" if value is None else encode(value)


def _struct(kind: pa.DataType) -> Encoder:
    fields = [kind.field(place) for place in range(kind.num_fields)]
    members = [
        (field.name, quoted(field.name), or_null(json_encoder(field.type))) for field in fields
    ]
    return lambda value: (
        "{" + ",".join(f"{key}:{encode(value[name])}" for name, key, encode in members) + "}"
    )


def _map(kind: pa.DataType) -> Encoder:
    text, encode = plain_encoder(kind.key_type), or_null(json_encoder(kind.item_type))
    return lambda pairs: (
        "{" + ",".join(f"{quoted(text(key))}:{encode(item)}" for key, item in pairs) + "}"
    )


def _digits(value: Decimal) -> str:
    return f"{value:f}"


def _values(column: pa.Array) -> list[Any]:
    """The values for an encoder; dates and times as numbers, as Python has the years 1 to 9999."""
    values: list[Any] = column.cast(_with_numbers(column.type)).to_pylist()
    return values


def _with_numbers(kind: pa.DataType) -> pa.DataType:
    """A type with numbers in the place of dates and times."""
    types = pa.types
    if types.is_timestamp(kind):
        return pa.int64()
    if types.is_date32(kind):
        return pa.int32()
    if types.is_struct(kind):
        return pa.struct([field.with_type(_with_numbers(field.type)) for field in kind])
    if types.is_map(kind):
        key, item = (f.with_type(_with_numbers(f.type)) for f in (kind.key_field, kind.item_field))
        return pa.map_(key, item)
    if types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_with_numbers(kind.value_type)))
    return kind


def _instant(number: int, *, a_second: int, zone: str) -> str:
    seconds, part = divmod(number, a_second)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    micros = part * 1_000_000 // a_second
    return f"{_day(days)}T{hour:02d}:{minute:02d}:{second:02d}.{micros:06d}{zone}"


@lru_cache(maxsize=10_000)
def _day(number: int) -> str:
    """A date of the calendar that Spark and Arrow have, from its days since 1970."""
    cycles, days = divmod(number, DAYS_OF_400_YEARS)
    day = EPOCH + timedelta(days)
    year = day.year + 400 * cycles
    sign = "+" if year > LAST_YEAR else "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{day:%m-%d}"


def _in_csv(text: str | None) -> str:
    if text is None:
        return ""
    if text and not any(special in text for special in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'
