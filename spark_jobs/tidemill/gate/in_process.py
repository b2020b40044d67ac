"""The engine without a JVM: Arrow reads the files, pandas holds the rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from tidemill.contract.objects.object_path import arrow_source
from tidemill.contract.syntax.java_regex import as_python
from tidemill.gate import time_bounds
from tidemill.gate.columns import EXACT_INTEGER, Column
from tidemill.gate.sample import Rows, Sample, SampleFile
from tidemill.gate.suite import Expectation
from tidemill.increments.judgement import EngineName

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from great_expectations.core.batch_definition import BatchDefinition
    from great_expectations.data_context.data_context.abstract_data_context import (
        AbstractDataContext,
    )


class InProcess:
    """Judges with pandas."""

    name: EngineName = "in_process"
    scans_for_samples = False

    def read(self, sample: Sample, files: tuple[SampleFile, ...]) -> Rows:
        import pandas as pd

        table = read(sample, files)
        columns = {
            name: judged_form(table[name], column, sample.time_zone)
            for name, column in sample.parsed.items()
        }
        frame = pd.DataFrame(columns, index=pd.RangeIndex(table.num_rows))
        return Rows(frame, table.num_rows)

    def arguments(self, expectation: Expectation, sample: Sample) -> Mapping[str, Any]:
        kwargs = dict(expectation.kwargs)
        column = sample.parsed.get(str(kwargs.get("column")))
        if column is not None and column.kind in ("date", "timestamp"):
            kwargs = time_bounds.on_pandas(kwargs, column, sample.time_zone)
        if "regex" in kwargs:
            kwargs["regex"] = as_python(kwargs["regex"]) or kwargs["regex"]
        return kwargs

    def batch_definition(self, context: AbstractDataContext, rows: Rows) -> BatchDefinition[Any]:
        asset = context.data_sources.add_pandas(self.name).add_dataframe_asset("increment")
        return asset.add_batch_definition_whole_dataframe("sealed")


def read(sample: Sample, files: tuple[SampleFile, ...]) -> pa.Table:
    """The rows of exactly these files, with the good table's columns and types."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    schema = to_arrow_schema(StructType.fromJson(json.loads(sample.columns)), timezone="UTC")
    tables = [_read(file, schema, sample.time_zone) for file in files]
    return pa.concat_tables([schema.empty_table(), *tables])


def _read(file: SampleFile, schema: pa.Schema, zone: str) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # ParquetFile takes one file as it is; read_table would add columns from the directories' names.
    with pq.ParquetFile(arrow_source(file.path)) as parquet:
        wanted = [name for name in parquet.schema_arrow.names if name in schema.names]
        held = parquet.read(columns=wanted)
    columns = []
    for field in schema:
        if field.name in file.partition:
            value = _partition_value(file.partition[field.name], field.type, zone)
            columns.append(pa.repeat(value, held.num_rows))
        elif field.name in held.column_names:
            columns.append(held[field.name].cast(field.type))
        else:
            # The column came later than this published file.
            columns.append(pa.nulls(held.num_rows, field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _partition_value(text: str | None, kind: pa.DataType, zone: str) -> pa.Scalar:
    import pyarrow as pa

    if text is not None and pa.types.is_timestamp(kind) and kind.tz:
        # Spark prints instants in the session's zone and does not say so.
        when = datetime.fromisoformat(text)
        return pa.scalar(when if when.tzinfo else when.replace(tzinfo=ZoneInfo(zone)), kind)
    return pa.scalar(text, pa.string()).cast(kind)


def judged_form(values: pa.ChunkedArray, column: Column, zone: str) -> pd.Series[Any]:
    """A column as pandas must hold it to be judged as on Spark (see `on_spark.judged_form`)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.kind == "integer" and values.null_count:
        return _integers_with_nulls(values)
    if column.kind == "decimal":
        # By way of text, because Arrow's own cast makes 3.3000000000000003 of 3.30.
        values = values.cast(pa.string()).cast(pa.float64())
    elif column.kind == "float":
        values = values.cast(pa.float64())
    elif column.kind == "date":
        values = _moments(values)
    elif column.kind == "timestamp":
        local = (
            pc.local_timestamp(values.cast(pa.timestamp("us", zone))) if column.zoned else values
        )
        values = _moments(local)
    series: pd.Series[Any] = values.to_pandas()
    return series


def _integers_with_nulls(values: pa.ChunkedArray) -> pd.Series[Any]:
    """As floats, which pandas compares in pairs; as nullable integers where floats would round."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    extremes = pc.min_max(values.cast(pa.int64())).as_py()
    exact = all(abs(extreme or 0) <= EXACT_INTEGER for extreme in extremes.values())
    mapped = None if exact else {values.type: pd.Int64Dtype()}.get
    series: pd.Series[Any] = values.to_pandas(types_mapper=mapped)
    return series


def _moments(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """In nanoseconds, which pandas compares as a whole, or in microseconds for far years."""
    import pyarrow as pa

    try:
        return values.cast(pa.timestamp("ns"))
    except pa.ArrowInvalid:
        return values.cast(pa.timestamp("us"))
