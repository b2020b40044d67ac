"""Impressions with the click that followed within an hour, or without one."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def transform(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    shown = impressions.select("ad", "campaign", F.col("at").alias("shown_at"))
    clicked = clicks.select(F.col("ad").alias("clicked_ad"), F.col("at").alias("clicked_at"))
    # The bounds say when an impression can find no click any more, and its state may go.
    within = "ad = clicked_ad AND clicked_at BETWEEN shown_at AND shown_at + INTERVAL 1 HOUR"
    return shown.join(clicked, F.expr(within), "left_outer").drop("clicked_ad")
