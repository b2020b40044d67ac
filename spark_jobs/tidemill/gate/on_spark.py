"""The engine for what does not fit into one process: Spark reads the files where they are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from tidemill.file_formats.reader import REJECT
from tidemill.gate import time_bounds
from tidemill.gate.columns import Column
from tidemill.gate.footers import ROW_COUNT, known_metrics
from tidemill.gate.sample import Rows, Sample, SampleFile
from tidemill.gate.suite import Expectation
from tidemill.increments.judgement import EngineName
from tidemill.spec.column_types import quoted

if TYPE_CHECKING:
    from great_expectations.core.batch_definition import BatchDefinition
    from great_expectations.data_context.data_context.abstract_data_context import (
        AbstractDataContext,
    )
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


class OnSpark:
    """Judges with Spark."""

    name: EngineName = "spark"
    scans_for_samples = True

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def read(self, sample: Sample, files: tuple[SampleFile, ...]) -> Rows:
        frame = self._frame(sample, files)
        known = known_metrics(files, sample.parsed)
        return Rows(frame, known.get(ROW_COUNT) or frame.count(), known)

    def _frame(self, sample: Sample, files: tuple[SampleFile, ...]) -> DataFrame:
        from pyspark.sql import DataFrame
        from pyspark.sql.types import StructType

        schema = StructType.fromJson(json.loads(sample.columns))
        alike: dict[tuple[str, str], list[SampleFile]] = {}
        for file in files:
            way = file.written.model_dump_json()
            alike.setdefault((str(file.sink), way), []).append(file)
        parts = [
            self._read(schema, some).select(*map(quoted, schema.names)) for some in alike.values()
        ]
        if not parts:
            parts = [self._session.createDataFrame([], schema)]
        frame = reduce(DataFrame.unionByName, parts)
        return frame.select(
            *(judged_form(frame[quoted(name)], column) for name, column in sample.parsed.items())
        )

    def _read(self, schema: StructType, files: Sequence[SampleFile]) -> DataFrame:
        """Files of one sink that were written alike."""
        from pyspark.sql.types import StructType

        written = files[0].written
        if written.rules.by_position:
            # The last column says why a row was rejected.
            schema = StructType([*schema.fields]).add(REJECT, "string")
        reader = self._session.read.format(written.format).options(**written.rereading)
        # Below its base path Spark reads partition values from the directories' names.
        reader = reader.schema(schema).option("basePath", str(files[0].sink))
        return reader.load([str(file.path) for file in files])

    def arguments(self, expectation: Expectation, sample: Sample) -> Mapping[str, Any]:
        column = sample.parsed.get(str(expectation.kwargs.get("column")))
        if column is None or column.kind not in ("date", "timestamp"):
            return expectation.kwargs
        return time_bounds.on_spark(expectation.type, expectation.kwargs, column, sample.time_zone)

    def batch_definition(self, context: AbstractDataContext, rows: Rows) -> BatchDefinition[Any]:
        # Here and not above: importing Great Expectations costs seconds.
        from tidemill.gate.gx_internals import one_scan

        return one_scan.batch_definition(context, self.name, rows.known)


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
