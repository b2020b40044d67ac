"""Events with what they brought in, and how long they were on their way."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def transform(events: DataFrame) -> DataFrame:
    revenue = F.when(F.col("action") == "purchase", F.col("price"))
    delay = F.unix_timestamp("received_at") - F.unix_timestamp("at")
    return events.withColumns({"revenue": revenue, "seconds_late": delay})
