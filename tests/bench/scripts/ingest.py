"""A hand-written Structured Streaming job that does what the `orders` pipeline's ingest does.

Typed columns, rejected rows kept apart with reason and record, one partition a day, exactly once.
Arguments: input folder, output folder, the format of the files.
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

source, target, form = sys.argv[1:]
spark = (
    SparkSession.builder.config("spark.sql.session.timeZone", "UTC")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    .getOrCreate()
)
columns = ["id", "quantity", "price", "product", "at"]
raw = (
    spark.readStream.schema(
        "id string, quantity int, price decimal(10,2), product string, at timestamp, _bad string"
    )
    .option("header", "true")
    .option("columnNameOfCorruptRecord", "_bad")
    .option("maxFilesPerTrigger", 10)
    .format(form)
    .load(source)
)
reason = (
    F.when(F.col("_bad").isNotNull(), "malformed")
    .when(F.col("at").isNull(), "no event time")
    .when(F.col("id").isNull(), "no id")
)
record = F.coalesce(F.col("_bad"), F.to_json(F.struct(*columns)))
rows = (
    raw.withColumn("reason", reason)
    .withColumn("record", F.when(F.col("reason").isNotNull(), record))
    .withColumn("file", F.when(F.col("reason").isNotNull(), F.col("_metadata.file_path")))
    .withColumn("amount", (F.col("quantity") * F.col("price")).cast("decimal(12,2)"))
    .withColumn("day", F.when(F.col("reason").isNull(), F.to_date("at")))
    .drop("_bad")
)
query = (
    rows.writeStream.format("parquet")
    .partitionBy("day")
    .option("path", f"{target}/out")
    .option("checkpointLocation", f"{target}/checkpoint")
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
