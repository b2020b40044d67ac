"""A hand-written Structured Streaming job that does what the bench's Kafka pipeline does.

Typed columns of JSON values, rejected records kept apart with reason, place and record, one
partition a day, exactly once. Arguments: brokers, topic, output folder.
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

brokers, topic, target = sys.argv[1:]
spark = (
    SparkSession.builder.config("spark.sql.session.timeZone", "UTC")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    .getOrCreate()
)
schema = "id string, quantity int, price decimal(10,2), product string, at timestamp, _bad string"
columns = ["id", "quantity", "price", "product", "at"]
raw = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", brokers)
    .option("subscribe", topic)
    .option("startingOffsets", "earliest")
    .option("maxOffsetsPerTrigger", 500_000)
    .load()
)
value = F.col("value").cast("string")
parsed = raw.select(
    F.from_json(value, schema, {"columnNameOfCorruptRecord": "_bad"}).alias("parsed"),
    value.alias("record"),
    F.concat_ws("/", "topic", "partition", "offset").alias("place"),
).select("parsed.*", "record", "place")
reason = (
    F.when(F.col("_bad").isNotNull(), "malformed")
    .when(F.col("at").isNull(), "no event time")
    .when(F.col("id").isNull(), "no id")
)
rows = (
    parsed.withColumn("reason", reason)
    .withColumn("record", F.when(F.col("reason").isNotNull(), F.col("record")))
    .withColumn("place", F.when(F.col("reason").isNotNull(), F.col("place")))
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
