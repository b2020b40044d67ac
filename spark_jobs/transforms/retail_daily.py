"""Orders, cancellations and revenue by country and day."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def transform(invoices: DataFrame) -> DataFrame:
    cancelled = F.col("InvoiceNo").startswith("C")
    amount = (F.col("Quantity") * F.col("UnitPrice")).cast("decimal(14,3)")
    return invoices.groupBy("order_date", F.col("Country").alias("country")).agg(
        _distinct(F.when(~cancelled, F.col("InvoiceNo"))).alias("orders"),
        _distinct(F.when(cancelled, F.col("InvoiceNo"))).alias("cancellations"),
        F.sum(amount).alias("revenue"),
        F.sum(F.when(cancelled, amount).otherwise(0)).alias("taken_back"),
    )


def _distinct(values: Column) -> Column:
    # Spark counts distinct values of a stream only roughly; the invoices of a day are few enough.
    return F.size(F.collect_set(values))
