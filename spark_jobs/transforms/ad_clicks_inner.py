"""Impressions and the clicks that followed within an hour, as soon as both are there."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def transform(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    shown = impressions.select("ad", "campaign", F.col("at").alias("shown_at"))
    clicked = clicks.select(F.col("ad").alias("clicked_ad"), F.col("at").alias("clicked_at"))
    within = "ad = clicked_ad AND clicked_at BETWEEN shown_at AND shown_at + INTERVAL 1 HOUR"
    return shown.join(clicked, F.expr(within)).drop("clicked_ad")
