"""What is normal for each sensor, from all it ever read."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def transform(readings: DataFrame) -> DataFrame:
    return readings.groupBy("sensor").agg(
        F.count("*").alias("readings"),
        F.avg("value").alias("baseline"),
        F.min("value").alias("lowest"),
        F.max("value").alias("highest"),
        F.sort_array(F.collect_set("error_code")).alias("error_codes"),
    )
