"""The class of a pipeline, read from the plan of its transform."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupStateTimeout

from tidemill.contract.pipeline_class import PipelineClass
from tidemill.engine.query.pipeline_class import class_of
from tidemill.engine.query.refusals import TransformNotRepeatable, refuse_unrepeatable
from tidemill.spec.output import OutputMode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAP, WINDOW, ORDERED, UNBOUNDED = PipelineClass
COLUMNS = "id string, at timestamp, n int"


@pytest.fixture(scope="module")
def read(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], DataFrame]:
    def stream() -> DataFrame:
        folder = str(tmp_path_factory.mktemp("rows"))
        rows = spark.readStream.schema(COLUMNS).json(folder)
        return rows.withWatermark("at", "10 minutes")

    return stream


def without(rows: DataFrame) -> DataFrame:
    """The same column without its watermark."""
    return rows.withColumn("at", F.col("at").cast("string").cast("timestamp"))


def joined(rows: DataFrame, others: DataFrame, how: str, *bounds: str) -> DataFrame:
    right = others.select(F.col("id").alias("other"), F.col("at").alias("then"))
    return rows.join(right, F.expr(" AND ".join(["id = other", *bounds])), how)


def windowed() -> Column:
    return F.window("at", "5 minutes").alias("w")


WITHIN = "then BETWEEN at AND at + INTERVAL 1 HOUR"
ONE: dict[str, tuple[PipelineClass, Callable[[DataFrame], DataFrame]]] = {
    "row by row": (MAP, lambda rows: rows.where("n > 1").withColumn("m", F.col("n") * 2)),
    "counts in windows": (WINDOW, lambda rows: rows.groupBy(windowed(), "id").count()),
    "counts by event time": (WINDOW, lambda rows: rows.groupBy("at").count()),
    "counts of counts": (
        WINDOW,
        lambda rows: (
            rows.groupBy(windowed())
            .count()
            .groupBy(F.window("w", "1 hour").alias("hour"))
            .agg(F.sum("count").alias("sum"))
        ),
    ),
    "sorted sets in windows": (
        WINDOW,
        lambda rows: rows.groupBy(windowed()).agg(F.sort_array(F.collect_set("n")).alias("n")),
    ),
    "the first in windows": (
        ORDERED,
        lambda rows: rows.groupBy(windowed()).agg(F.first("n").alias("n")),
    ),
    "sessions": (ORDERED, lambda rows: rows.groupBy(F.session_window("at", "1 hour")).count()),
    "first seen within the watermark": (
        ORDERED,
        lambda rows: rows.dropDuplicatesWithinWatermark(["id"]),
    ),
    "first seen at a time": (ORDERED, lambda rows: rows.dropDuplicates(["id", "at"])),
    "first seen ever": (UNBOUNDED, lambda rows: rows.dropDuplicates(["id"])),
    "distinct rows": (ORDERED, lambda rows: rows.distinct()),
    "running counts by something computed": (
        UNBOUNDED,
        lambda rows: rows.groupBy(F.lower("id").alias("id")).count(),
    ),
    "running counts": (UNBOUNDED, lambda rows: rows.groupBy("id").count()),
    "windows without a watermark": (
        UNBOUNDED,
        lambda rows: without(rows).groupBy(windowed()).count(),
    ),
    "deduplicated, then counted": (
        ORDERED,
        lambda rows: rows.dropDuplicatesWithinWatermark(["id"]).groupBy(windowed()).count(),
    ),
}
TWO: dict[str, tuple[PipelineClass, Callable[[DataFrame, DataFrame], DataFrame]]] = {
    "inner within bounds": (WINDOW, lambda a, b: joined(a, b, "inner", WITHIN)),
    "inner in equal windows": (
        WINDOW,
        lambda a, b: a.select("id", F.window("at", "1 hour").alias("w")).join(
            b.select("id", F.window("at", "1 hour").alias("w")), ["id", "w"]
        ),
    ),
    "inner without bounds": (UNBOUNDED, lambda a, b: joined(a, b, "inner")),
    "left outer within bounds": (ORDERED, lambda a, b: joined(a, b, "left_outer", WITHIN)),
    "semi within bounds": (ORDERED, lambda a, b: joined(a, b, "left_semi", WITHIN)),
    "a union of streams": (MAP, lambda a, b: a.unionByName(b)),
}


@pytest.mark.parametrize("name", ONE)
def test_the_class_of_one_stream(name: str, read: Callable[[], DataFrame]) -> None:
    expected, transform = ONE[name]
    assert class_of(transform(read()), OutputMode.APPEND) is expected


@pytest.mark.parametrize("name", TWO)
def test_the_class_of_two_streams(name: str, read: Callable[[], DataFrame]) -> None:
    expected, transform = TWO[name]
    assert class_of(transform(read(), read()), OutputMode.APPEND) is expected


def test_windows_that_complete_mode_keeps_for_ever_are_unbounded(
    read: Callable[[], DataFrame],
) -> None:
    windows = read().groupBy(F.window("at", "1 hour")).count()
    assert class_of(windows, OutputMode.UPDATE) is WINDOW
    assert class_of(windows, OutputMode.COMPLETE) is UNBOUNDED


def test_a_static_table_changes_no_class(
    read: Callable[[], DataFrame], spark: SparkSession
) -> None:
    names = spark.createDataFrame([("a", "ada"), ("a", "ann")], "id string, name string")
    joined_with = read().join(names.groupBy("id").count(), "id", "left")
    assert class_of(joined_with, OutputMode.APPEND) is MAP


@pytest.mark.parametrize(
    ("timeout", "refused"),
    [(GroupStateTimeout.ProcessingTimeTimeout, True), (GroupStateTimeout.EventTimeTimeout, False)],
)
def test_timers_of_the_clock_are_refused(
    timeout: str, refused: bool, read: Callable[[], DataFrame]
) -> None:
    own = (
        read()
        .groupBy("id")
        .applyInPandasWithState(
            lambda key, frames, state: iter(()), "id string", "n long", "append", timeout
        )
    )
    assert class_of(own, OutputMode.APPEND) is ORDERED
    if not refused:
        refuse_unrepeatable(own, Path("sessions.py"), OutputMode.APPEND)
        return
    with pytest.raises(TransformNotRepeatable) as error:
        refuse_unrepeatable(own, Path("sessions.py"), OutputMode.APPEND)
    assert error.value.expression == "ProcessingTimeTimeout"
