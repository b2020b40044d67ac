"""Clicks with what they brought in; those on an advertisement that is not in the table, too."""

from pyspark.sql import DataFrame


def transform(clicks: DataFrame, impressions: DataFrame) -> DataFrame:
    found = clicks.join(impressions, "ad", "left")
    return found.select("click", "ad", "at", "campaign", "price", "day")
