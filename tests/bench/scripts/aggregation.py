"""One aggregation that answers the rules of `tests.bench.gate`, written by hand.

Argument: the folder of the files.
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = (
    SparkSession.builder.config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.session.timeZone", "UTC")
    .getOrCreate()
)
rows = spark.read.parquet(sys.argv[1])
found = rows.agg(
    F.count(F.lit(1)).alias("rows"),
    F.count_if(F.col("id").isNull()).alias("no_id"),
    F.count_if(F.col("quantity").isNull()).alias("no_quantity"),
    F.count_if(~F.col("quantity").between(1, 100)).alias("quantity"),
    F.count_if(~F.col("price").between(0, 1000)).alias("price"),
    F.count_if(~F.col("product").isin("kettle", "teapot", "mug")).alias("product"),
    F.count_if(~F.col("id").rlike(r"^ORDER-\d{9}$")).alias("id"),
    F.count_if(F.length("country") != 2).alias("country"),
    F.avg("amount").alias("mean"),
    F.max("quantity").alias("most"),
).first()
failing = ("no_id", "no_quantity", "quantity", "price", "product", "id", "country")
good = not any(found[name] for name in failing)
sys.exit(0 if good and found["rows"] and 0 <= found["mean"] <= 1000 and found["most"] <= 9 else 1)
