"""Orders with their amount."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def transform(orders: DataFrame) -> DataFrame:
    amount = F.col("quantity") * F.col("unit_price")
    return orders.withColumn("amount", amount.cast("decimal(12,2)"))
