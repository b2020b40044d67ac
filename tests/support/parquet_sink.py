"""Sinks as the engine writes them, but written by Arrow: no JVM is needed to have Parquet files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.gate.sample import Sample, SampleFile
from tidemill.gate.suite import Suite, load_suite

SPARK_TYPES = {
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
}


def spark_schema(columns: Mapping[str, Any]) -> str:
    """Spark's JSON schema; a type is Spark's own name of it or an Arrow type."""
    fields = [
        {"name": name, "type": _spark_type(kind), "nullable": True, "metadata": {}}
        for name, kind in columns.items()
    ]
    return json.dumps({"type": "struct", "fields": fields})


def write_file(
    table: pa.Table, sink: Path, partition: Mapping[str, str] | None = None, name: str = "part-0"
) -> SampleFile:
    """One good file, with the engine's own column beside the rows."""
    values = dict(partition or {})
    folders = [f"{column}={value}" for column, value in {"_rejected": "false", **values}.items()]
    path = sink.joinpath(*folders, f"{name}.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    reject = pa.nulls(table.num_rows, pa.struct({"reason": pa.string()}))
    pq.write_table(table.append_column("_reject", reject), path)
    return SampleFile(path, sink, values)


def sample_of(
    columns: Mapping[str, list[Any] | pa.Array], folder: Path, time_zone: str = "UTC"
) -> Sample:
    """A sample of one file; integers are Spark's `long`, everything else as Arrow infers it."""
    table = pa.table(dict(columns))
    schema = spark_schema({field.name: field.type for field in table.schema})
    return Sample((write_file(table, folder / "_live-0001"),), schema, time_zone)


def suite_of(folder: Path, *expectations: Mapping[str, Any]) -> Suite:
    path = folder / "suite.json"
    path.write_text(json.dumps({"name": "suite", "expectations": expectations}))
    return load_suite(path)


def expect(what: str, **kwargs: Any) -> dict[str, Any]:
    """An expectation as JSON; `severity` and `meta` are not its arguments."""
    beside = {name: kwargs.pop(name) for name in ("severity", "meta") if name in kwargs}
    return {"type": f"expect_{what}", "kwargs": kwargs, **beside}


def _spark_type(kind: Any) -> str:
    if isinstance(kind, str):
        return kind
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return SPARK_TYPES[kind]
