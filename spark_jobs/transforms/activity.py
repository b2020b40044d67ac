"""Sensor readings of phones under the names and types that analysts ask for."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

NANOSECONDS = 1000


def transform(readings: DataFrame) -> DataFrame:
    x, y, z = (F.col(f"reading.{axis}") for axis in "xyz")
    return (
        readings.withColumnRenamed("gt", "activity")
        .withColumnRenamed("Arrival_Time", "arrived")
        .select(
            F.col("User").alias("user"),
            F.col("Index").alias("index"),
            "arrived",
            # Whole microseconds: a division of doubles would round the last digits.
            F.timestamp_micros(F.expr(f"Creation_Time DIV {NANOSECONDS}")).alias("created"),
            F.when(F.col("activity") != "null", F.col("activity")).alias("activity"),
            F.col("phone.model").alias("model"),
            F.col("phone.device").alias("device"),
            F.col("reading").cast("struct<x: float, y: float, z: float>").alias("reading"),
            F.sqrt(x * x + y * y + z * z).alias("strength"),
            "tags",
            "day",
        )
    )
