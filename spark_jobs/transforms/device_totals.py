"""The reports of each type of device, counted, and their mean signal."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def transform(reports: DataFrame) -> DataFrame:
    # The mean of decimals is exact, whatever the order in which they come; that of doubles is not.
    return reports.groupBy("type").agg(
        F.count("*").alias("reports"), F.avg("signal").alias("mean_signal")
    )
