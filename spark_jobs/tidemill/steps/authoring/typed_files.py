"""Columns and rows of files that have types of their own: Parquet, ORC and Avro."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemill.file_formats.avro import avro_rows, avro_schema
from tidemill.spec.schema_files.avro import avro_columns
from tidemill.spec.schema_files.column import UnknownType
from tidemill.steps.authoring.arrow_types import column_of_field
from tidemill.steps.authoring.sample_types import SampledColumn

if TYPE_CHECKING:
    import pyarrow as pa

Typed = tuple[Sequence[SampledColumn], Iterator[dict[str, Any]]]


def _parquet(path: Path, most: int) -> Typed:
    from pyarrow import parquet

    return _of_arrow(parquet.read_table(path), most)


def _orc(path: Path, most: int) -> Typed:
    from pyarrow import orc

    return _of_arrow(orc.read_table(path), most)


def _of_arrow(table: pa.Table, most: int) -> Typed:
    rows = iter(table.slice(0, most).to_pylist())
    return [column_of_field(field) for field in table.schema], rows


def _avro(path: Path, most: int) -> Typed:
    schema = avro_schema(path)
    if not isinstance(schema, dict) or "fields" not in schema:
        msg = "its schema is not a record"
        raise ValueError(msg)
    try:
        columns = [SampledColumn(one.name, one.type) for one in avro_columns(schema)]
    except UnknownType as error:
        msg = f"column '{error.name}' {error.what}"
        raise ValueError(msg) from error
    nested = {one.name for one in columns if one.type.startswith("struct<")}
    return columns, (_with_members(row, nested) for row in avro_rows(path))


def _with_members(row: dict[str, Any], nested: set[str]) -> dict[str, Any]:
    """A row in which the value of a union of several types is a struct, as Spark has it."""
    return {
        name: {"member": value} if name in nested and not isinstance(value, dict | None) else value
        for name, value in row.items()
    }


# Format -> columns and rows of a file, most of which are not needed; raises ValueError.
TYPED: dict[str, Callable[[Path, int], Typed]] = {"parquet": _parquet, "orc": _orc, "avro": _avro}
