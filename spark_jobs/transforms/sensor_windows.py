"""Readings of each sensor in windows of two shapes, with all their aggregates."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def transform(readings: DataFrame) -> DataFrame:
    tumbling = _in_windows(readings, "tumbling", F.window("at", "5 minutes"))
    sliding = _in_windows(readings, "sliding", F.window("at", "10 minutes", "5 minutes"))
    # One aggregation over both: one state to keep, and one watermark to close its windows.
    windows = tumbling.unionByName(sliding).groupBy("shape", "window", "sensor")
    return windows.agg(
        F.count("*").alias("readings"),
        F.avg("value").alias("mean"),
        F.min("value").alias("lowest"),
        F.max("value").alias("highest"),
        # A set has no order of its own, so that it is sorted at once.
        F.sort_array(F.collect_set("error_code")).alias("error_codes"),
    ).select(
        "shape",
        F.col("window.start").alias("window_start"),
        F.col("window.end").alias("window_end"),
        "sensor",
        "readings",
        "mean",
        "lowest",
        "highest",
        "error_codes",
    )


def _in_windows(readings: DataFrame, shape: str, window: Column) -> DataFrame:
    return readings.select(
        F.lit(shape).alias("shape"), window.alias("window"), "sensor", "value", "error_code"
    )
