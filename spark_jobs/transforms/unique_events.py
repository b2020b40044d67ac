"""Each event once."""

from pyspark.sql import DataFrame


def transform(events: DataFrame) -> DataFrame:
    return events.dropDuplicatesWithinWatermark(["id"])
