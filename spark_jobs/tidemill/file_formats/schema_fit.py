"""Checks that a file's columns have the spec's types, so that Spark reads no nulls instead.

Spark 4.2 reads a column that a file lacks as null, in Parquet an int as a smallint modulo 65536, in
ORC a text as null where an int is asked for, 1.5 as 1 where it is an int: all without a word. What
widens without loss passes. A timestamp without a zone is a time on some wall, in no known place: as
an instant Spark takes it for UTC in Parquet, and an evening in Berlin for the next day.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from tidemill.contract.syntax.ddl import DdlType
from tidemill.file_formats.reader import NO_ZONE, Columns, FormatReader
from tidemill.spec.sources.file import FileSource

# Spark 4.2 reads an ORC file whose columns all have such names by position, as Hive wrote them.
_BY_POSITION = re.compile(r"_col\d+")
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


class ArrowReader(FormatReader):
    """A format whose schema Arrow reads."""

    def misfits(self, path: Path, source: FileSource, wanted: Columns) -> Iterator[str]:
        return misfits(self._schema(path), wanted)

    def new_columns(self, path: Path, source: FileSource) -> Iterator[str]:
        return columns_not_named(self._schema(path), source.types)

    def _schema(self, path: Path) -> pa.Schema:
        raise NotImplementedError


def misfits(
    found: Iterable[pa.Field], wanted: Mapping[str, DdlType], *, within: str = ""
) -> Iterator[str]:
    """What is wrong with each column that does not fit, such as `column qty is string, not int`.

    Args:
        wanted: The spec's columns that the file has to hold -> their types.
        within: The struct they are in, for messages.
    """
    fields = list(found)
    by_name = {field.name.lower(): field for field in fields}
    if not within and is_by_position(fields):
        by_name = {name.lower(): field for name, field in zip(wanted, fields, strict=False)}
    for name, kind in wanted.items():
        field = by_name.get(name.lower())
        if field is None:
            yield f"column {within}{name} is missing"
        else:
            yield from _misfits(field.type, kind, f"{within}{name}")


def columns_not_named(
    found: Iterable[pa.Field], named: Mapping[str, DdlType], within: str = ""
) -> Iterator[str]:
    """The columns of a file, and the fields of its structs, that a schema does not name.

    Args:
        named: The schema's columns -> their types.
        within: The struct they are in, for messages.
    """
    kinds = {name.lower(): kind for name, kind in named.items()}
    for field in found:
        kind = kinds.get(field.name.lower())
        if kind is None:
            yield f"{within}{field.name}"
        elif kind.name == "struct" and pa.types.is_struct(field.type):
            yield from columns_not_named(field.type.fields, kind.fields, f"{within}{field.name}.")


def is_by_position(found: Iterable[pa.Field]) -> bool:
    """Whether Spark reads an ORC file's columns in their order, whatever they are called."""
    fields = list(found)
    return bool(fields) and all(_BY_POSITION.fullmatch(field.name) for field in fields)


def with_types(
    fields: Iterable[pa.Field], retyped: Callable[[pa.Field], pa.DataType]
) -> list[pa.Field]:
    """Fields, and those within them, whose types are other ones for Spark than for Arrow.

    Args:
        retyped: The type of a field that has none within.
    """
    return [field.with_type(_retyped(field, retyped)) for field in fields]


def _retyped(field: pa.Field, retyped: Callable[[pa.Field], pa.DataType]) -> pa.DataType:
    kind = field.type
    if pa.types.is_struct(kind):
        return pa.struct(with_types(kind.fields, retyped))
    if pa.types.is_list(kind):
        return pa.list_(*with_types([kind.value_field], retyped))
    if pa.types.is_map(kind):
        return pa.map_(*with_types([kind.key_field, kind.item_field], retyped))
    return retyped(field)


def _misfits(found: pa.DataType, wanted: DdlType, name: str) -> Iterator[str]:
    if pa.types.is_dictionary(found):
        found = found.value_type
    if wanted.name == "struct" and pa.types.is_struct(found):
        yield from misfits(found.fields, wanted.fields, within=f"{name}.")
    elif wanted.name == "array" and _is_list(found) and wanted.items is not None:
        yield from _misfits(found.value_type, wanted.items, f"{name}[]")
    elif wanted.name == "map" and pa.types.is_map(found):
        for kind, inner in ((wanted.keys, found.key_type), (wanted.items, found.item_type)):
            if kind is not None:
                yield from _misfits(inner, kind, f"{name}[]")
    elif not _fits(found, wanted):
        yield f"column {name} is {_named(found)}, not {spelled(wanted)}"


def _fits(found: pa.DataType, wanted: DdlType) -> bool:
    is_ = pa.types
    name = wanted.name
    if name in _BITS:
        return bool(is_.is_integer(found)) and _bits(found) <= _BITS[name]
    if name == "decimal":
        return _fits_decimal(found, wanted)
    narrow = is_.is_integer(found) and _bits(found) <= 32
    fitting = {
        "boolean": is_.is_boolean(found),
        "float": is_.is_float32(found),
        "double": is_.is_float32(found) or is_.is_float64(found) or narrow,
        "string": is_.is_string(found) or is_.is_large_string(found),
        "binary": is_.is_binary(found)
        or is_.is_large_binary(found)
        or is_.is_fixed_size_binary(found)
        or is_.is_string(found),
        "date": is_.is_date(found),
        "timestamp": is_.is_timestamp(found) and found.tz is not None,
        "timestamp_ntz": (is_.is_timestamp(found) and found.tz is None) or is_.is_date(found),
        "struct": False,
        "array": False,
        "map": False,
    }
    # Spark decides about all other types.
    return bool(fitting.get(name, True))


def _fits_decimal(found: pa.DataType, wanted: DdlType) -> bool:
    before_the_point = wanted.precision - wanted.scale
    if pa.types.is_integer(found):
        return _DIGITS[found.bit_width] <= before_the_point
    if not pa.types.is_decimal(found):
        return False
    return bool(found.scale <= wanted.scale and found.precision - found.scale <= before_the_point)


def _bits(found: pa.DataType) -> int:
    """The width of a signed integer that holds it."""
    return int(found.bit_width) * (1 if pa.types.is_signed_integer(found) else 2)


def _is_list(found: pa.DataType) -> bool:
    is_ = pa.types
    return bool(is_.is_list(found) or is_.is_large_list(found) or is_.is_fixed_size_list(found))


def _named(found: pa.DataType) -> str:
    if pa.types.is_timestamp(found):
        return NO_ZONE if found.tz is None else "timestamp"
    return str(found)


def spelled(wanted: DdlType) -> str:
    """A type as a schema names it."""
    if wanted.name == "decimal":
        return f"decimal({wanted.precision},{wanted.scale})"
    return wanted.name
