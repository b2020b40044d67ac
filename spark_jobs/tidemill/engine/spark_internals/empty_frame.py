"""A DataFrame without rows that counts as a stream, and whose columns have metadata.

Relies on `classic.SparkSession.internalCreateDataFrame` and `parseDataType`.
"""

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType


def empty_frame(
    session: SparkSession, schema: StructType, metadata: Mapping[str, str], *, streaming: bool
) -> DataFrame:
    """A DataFrame without rows.

    Args:
        metadata: The metadata of each column, in place of the schema's.
        streaming: Whether Spark takes it for a stream.
    """
    described = json.loads(schema.json())
    for field in described["fields"]:
        field["metadata"] = dict(metadata)
    spark: Any = session._jsparkSession
    columns = spark.parseDataType(json.dumps(described))
    no_rows = session.sparkContext._jsc.emptyRDD().rdd()
    return DataFrame(spark.internalCreateDataFrame(no_rows, columns, streaming), session)
