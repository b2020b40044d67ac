"""The second half of the glue: Great Expectations on Spark over what the first job wrote.

Argument: the output folder of `ingest.py`.
"""

import sys

import great_expectations as gx
import great_expectations.expectations as gxe
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .getOrCreate()
)
rows = spark.read.parquet(f"{sys.argv[1]}/out").where("reason IS NULL")
context = gx.get_context(mode="ephemeral")
asset = context.data_sources.add_spark("spark").add_dataframe_asset("orders")
batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": rows})
suite = gx.ExpectationSuite(
    "orders",
    expectations=[
        gxe.ExpectColumnValuesToNotBeNull(column="id"),
        gxe.ExpectColumnValuesToBeBetween(column="quantity", min_value=1, mostly=0.9),
        gxe.ExpectColumnValuesToBeBetween(column="price", min_value=0),
    ],
)
sys.exit(0 if batch.validate(suite).success else 1)
