"""Invoice lines with the names, types and flags that analysts ask for."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

# Stock codes are five digits and at most a few letters; the rest is postage, fees and corrections.
PRODUCT_CODE = r"^\d{5}[A-Za-z]*$"


def transform(invoices: DataFrame) -> DataFrame:
    amount = F.col("Quantity") * F.col("UnitPrice")
    return invoices.select(
        F.col("InvoiceNo").alias("invoice_no"),
        F.col("StockCode").alias("stock_code"),
        F.col("Description").alias("description"),
        F.col("Quantity").alias("quantity"),
        F.col("InvoiceDate").alias("invoice_date"),
        F.col("UnitPrice").alias("unit_price"),
        F.col("CustomerID").cast("int").alias("customer_id"),
        F.col("Country").alias("country"),
        F.col("InvoiceNo").startswith("C").alias("is_cancellation"),
        F.col("StockCode").rlike(PRODUCT_CODE).alias("is_product"),
        amount.cast("decimal(14,3)").alias("amount"),
        "order_date",
    )
