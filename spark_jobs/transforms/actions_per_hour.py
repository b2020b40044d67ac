"""How often each action happened in each hour."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def transform(events: DataFrame) -> DataFrame:
    window = F.window("time", "1 hour")
    counts = events.groupBy(F.lower("action").alias("action"), window.alias("window")).count()
    return counts.select("action", F.col("window.start").alias("hour"), "count")
