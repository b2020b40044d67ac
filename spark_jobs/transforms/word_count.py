"""How often each word was said, whatever its case."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def transform(lines: DataFrame) -> DataFrame:
    words = lines.select(F.explode(F.split(F.lower("value"), r"[^\p{L}\p{N}]+")).alias("word"))
    return words.where("word <> ''").groupBy("word").count()
