"""When windows are final, held against Spark's own windows."""

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
def test_the_last_window_before_a_time_ends_when_spark_says(spark: SparkSession, kind: str) -> None:
    from pyspark.sql import functions as F

    from tidemill.engine.recompute.finality import windows_of

    stream = spark.readStream.format("rate").load()
    for length, slide, offset in WINDOWS:
        over = F.window(F.col("timestamp").cast(kind), length, slide, offset)
        (found,) = windows_of(stream.groupBy(over.alias("w")).count().select("w.start", "count"))
        for until in TIMES:
            micros = (until - EPOCH) // timedelta(microseconds=1)
            before = spark.range(1).select(F.timestamp_micros(F.lit(micros - 1)).alias("timestamp"))
            end = F.col("w.end").cast("timestamp")
            row = before.select(over.alias("w")).agg(F.max(F.unix_micros(end))).collect()[0]
            assert found.end_of_last(micros) == row[0], (length, slide, offset, until)


def test_a_transform_without_windows_has_none(spark: SparkSession) -> None:
    from tidemill.engine.recompute.finality import windows_of

    stream = spark.readStream.format("rate").load()
    assert windows_of(stream.withColumn("n", stream["value"] % 10 + 5)) == []


def test_windows_that_spark_prints_otherwise_are_refused(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import functions as F

    from tidemill.engine.recompute import finality

    monkeypatch.setattr(finality, "_STEP", re.compile("as another version prints it"))
    stream = spark.readStream.format("rate").load()
    with pytest.raises(finality.WindowsUnknown) as refused:
        finality.windows_of(stream.groupBy(F.window("timestamp", "1 hour")).count())
    assert "3600000000" in refused.value.expression
