"""Types between Arrow and Spark's DDL: of a file that has types, and of a table of sampled rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from tidemill.spec.column_types import quoted
from tidemill.steps.authoring.sample_types import SampledColumn

if TYPE_CHECKING:
    import pyarrow as pa


def column_of_field(field: pa.Field) -> SampledColumn:
    """A column of a Parquet or ORC file."""
    return SampledColumn(field.name, _ddl(field.type))


def table_of(columns: Sequence[SampledColumn], rows: Iterable[dict[str, Any]]) -> pa.Table:
    """Sampled rows as an Arrow table; of a nested column it holds only whether it has a value."""
    import pyarrow as pa

    held = [*rows]
    arrays = {
        column.name: pa.array([_value(row.get(column.name), column.type) for row in held])
        for column in columns
    }
    return pa.table(arrays)


def _value(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind in ("bigint", "double", "boolean") and isinstance(value, str):
        if kind == "boolean":
            return value.lower() == "true"
        return int(value) if kind == "bigint" else float(value)
    if kind == "double":
        return float(value)
    if kind == "date" and isinstance(value, str):
        return date.fromisoformat(value)
    if kind == "timestamp" and isinstance(value, str):
        time = datetime.fromisoformat(value)
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    if isinstance(value, dict | list):
        return True
    return str(value) if kind == "string" else value


def _ddl(kind: pa.DataType) -> str:
    import pyarrow as pa

    types = pa.types
    simple = {
        "bool": "boolean",
        "int8": "tinyint",
        "int16": "smallint",
        "uint8": "smallint",
        "int32": "int",
        "uint16": "int",
        "int64": "bigint",
        "uint32": "bigint",
        "uint64": "decimal(20,0)",
        "float": "float",
        "halffloat": "float",
        "double": "double",
        "binary": "binary",
        "large_binary": "binary",
        "date32[day]": "date",
    }
    if str(kind) in simple:
        return simple[str(kind)]
    if types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    if types.is_map(kind):
        return f"map<{_ddl(kind.key_type)}, {_ddl(kind.item_type)}>"
    if types.is_list(kind) or types.is_large_list(kind):
        return f"array<{_ddl(kind.value_type)}>"
    if types.is_struct(kind):
        fields = (kind.field(place) for place in range(kind.num_fields))
        return f"struct<{', '.join(f'{quoted(one.name)}: {_ddl(one.type)}' for one in fields)}>"
    return "string"
