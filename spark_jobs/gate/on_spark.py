"""The engine for what does not fit into one process: Spark reads the files where they lie."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

from spark_jobs.gate import time_bounds
from spark_jobs.gate.columns import Column
from spark_jobs.gate.judgement import EngineName
from spark_jobs.gate.sample import Sample, SampleFile
from spark_jobs.gate.suite import Expectation

if TYPE_CHECKING:
    from great_expectations.core.batch_definition import BatchDefinition
    from great_expectations.data_context.data_context.abstract_data_context import (
        AbstractDataContext,
    )
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession


class OnSpark:
    """Judges with Spark.

    Args:
        session: In the time zone of the spec, as `engine.session` opens it.
    """

    name: EngineName = "spark"

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def frame(self, sample: Sample, files: tuple[SampleFile, ...]) -> DataFrame:
        from pyspark.sql import DataFrame
        from pyspark.sql.types import StructType

        schema = StructType.fromJson(json.loads(sample.columns))
        by_sink: dict[str, list[str]] = {}
        for file in files:
            by_sink.setdefault(str(file.sink), []).append(str(file.path))
        # Below its base path Spark reads partition values from the directories' names.
        reader = self._session.read.schema(schema)
        parts = [
            reader.option("basePath", sink).parquet(*paths).select(*schema.names)
            for sink, paths in by_sink.items()
        ]
        nothing = self._session.createDataFrame([], schema)
        frame = reduce(DataFrame.unionByName, parts) if parts else nothing
        return frame.select(
            *(judged_form(frame[name], column) for name, column in sample.parsed.items())
        )

    def rows(self, frame: Any) -> int:
        return int(frame.count())

    def arguments(self, expectation: Expectation, sample: Sample) -> Mapping[str, Any]:
        column = sample.parsed.get(str(expectation.kwargs.get("column")))
        if column is None or column.kind not in ("date", "timestamp"):
            return expectation.kwargs
        return time_bounds.on_spark(expectation.type, expectation.kwargs, column, sample.time_zone)

    def batch_definition(self, context: AbstractDataContext) -> BatchDefinition[Any]:
        # Without persist=False it would cache all rows and never let go of them.
        source = context.data_sources.add_spark(self.name, persist=False)
        asset = source.add_dataframe_asset("increment")
        return asset.add_batch_definition_whole_dataframe("sealed")


def judged_form(value: SparkColumn, column: Column) -> SparkColumn:
    """A column as both engines judge it (see `in_process.judged_form`).

    A decimal that a double holds exactly becomes one, so that 0.01 in a suite means 0.01; a NaN is
    a missing value; an instant becomes what the clock on the wall of the session's zone showed.
    """
    from pyspark.sql import functions as F

    said = value
    if column.kind == "decimal":
        said = value.cast("double")
    elif column.kind == "float":
        said = F.when(~F.isnan(value), value.cast("double"))
    elif column.zoned:
        said = value.cast("timestamp_ntz")
    elif column.type in ("byte", "short"):
        # Great Expectations knows no mean of these.
        said = value.cast("int")
    return said.alias(column.name)
