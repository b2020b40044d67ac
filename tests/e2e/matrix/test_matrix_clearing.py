"""When a watermark clears the state of an aggregation, row by row of tests/matrix.yaml."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.support.pipelines.matrix_queries import Streams, assert_as_told, rows_of
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.engine.query.pipeline_class import class_of
from tidemill.spec.output import OutputMode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AGGREGATIONS: dict[str, Callable[[Streams], DataFrame]] = {
    "by-window": lambda s: s.rows().groupBy(F.window("at", "5 minutes")).count(),
    "by-event-time": lambda s: s.rows().groupBy("at").count(),
    "by-another-column": lambda s: (
        s.rows().withColumn("hour", F.hour("at")).groupBy("hour").count()
    ),
    "watermark-of-another-column": lambda s: (
        s.rows(None)
        .withColumn("then", F.col("at"))
        .withWatermark("then", "10 minutes")
        .groupBy("at")
        .count()
    ),
    "watermark-afterwards": lambda s: (
        s.rows(None).groupBy("at").count().withWatermark("at", "10 minutes")
    ),
}


@rows_of("clearing", says="refuse")
def test_an_aggregation_that_never_ends_is_refused(
    row: dict[str, Any], tmp_path: Path, spark: SparkSession
) -> None:
    streams = Streams(spark, tmp_path)
    assert_as_told(row, AGGREGATIONS[row["aggregation"]](streams), streams)


@rows_of("clearing", says="run")
def test_state_is_cleared_where_all_conditions_hold(
    row: dict[str, Any], tmp_path: Path, spark: SparkSession
) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    streams = Streams(spark, tmp_path)
    streams.arrive("1.json", ["12:00"])
    streams.arrive("2.json", ["13:00"])
    rows = AGGREGATIONS[row["aggregation"]](streams)
    assert_as_told(row, rows, streams)
    bounded = class_of(rows, OutputMode(row["mode"])) is not PipelineClass.UNBOUNDED
    assert bounded == (row["state"] == "cleared")

    query = streams.start(rows, row["mode"])
    query.awaitTermination()

    kept = query.recentProgress[-1].stateOperators[0].numRowsTotal
    assert kept == {"cleared": 1, "kept": 2}[row["state"]]
