"""How often each word was said in windows of ten minutes, one every five."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def transform(lines: DataFrame) -> DataFrame:
    word = F.explode(F.split(F.lower("text"), r"[^\p{L}\p{N}]+"))
    words = lines.select("at", word.alias("word")).where("word <> ''")
    window = F.window("at", "10 minutes", "5 minutes")
    counts = words.groupBy(window.alias("window"), "word").count()
    return counts.select(
        F.col("window.start").alias("window_start"),
        F.col("window.end").alias("window_end"),
        "word",
        "count",
    )
