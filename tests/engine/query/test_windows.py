"""The windows of a plan, held against those that Spark computes."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WINDOWS = [
    ("1 hour", None, None),
    ("10 minutes", "5 minutes", "2 minutes"),
    ("1 day", "1 day", "-90 minutes"),
    ("1 day", "7 hours", "1 second"),
]
TIMES = [datetime(2026, 3, 2, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 58, tzinfo=UTC)]


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_windows_around_a_time_begin_and_end_as_spark_says(spark: SparkSession, kind: str) -> None:
    from pyspark.sql import functions as F

    from tidemill.engine.query.windows import windows_of

    stream = spark.readStream.format("rate").load()
    for length, slide, offset in WINDOWS:
        over = F.window(F.col("timestamp").cast(kind), length, slide, offset)
        (found,) = windows_of(stream.groupBy(over.alias("w")).count().select("w.start", "count"))
        for until in TIMES:
            micros = (until - EPOCH) // timedelta(microseconds=1)
            before = spark.range(1).select(F.timestamp_micros(F.lit(micros - 1)).alias("timestamp"))
            start, end = (
                F.unix_micros(F.col(f"w.{n}").cast("timestamp")) for n in ("start", "end")
            )
            row = before.select(over.alias("w")).agg(F.min(start), F.max(end)).collect()[0]
            of_ours = (found.first_start(micros - 1), found.end_of_last(micros))
            assert of_ours == tuple(row), (length, slide, offset, until)


def test_a_transform_without_windows_has_none(spark: SparkSession) -> None:
    from tidemill.engine.query.windows import windows_of

    stream = spark.readStream.format("rate").load()
    assert windows_of(stream.withColumn("n", stream["value"] % 10 + 5)) == []


def test_windows_that_spark_prints_otherwise_are_refused(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import functions as F

    from tidemill.engine.query import windows

    monkeypatch.setattr(windows, "_STEP", re.compile("as another version prints it"))
    stream = spark.readStream.format("rate").load()
    with pytest.raises(windows.WindowsUnknown) as refused:
        windows.windows_of(stream.groupBy(F.window("timestamp", "1 hour")).count())
    assert "3600000000" in refused.value.expression
