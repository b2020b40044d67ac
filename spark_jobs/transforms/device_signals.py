"""Reports whose signal is above the noise."""

from pyspark.sql import DataFrame

NOISE = 10


def transform(reports: DataFrame) -> DataFrame:
    return reports.where(reports["signal"] > NOISE)
