"""Spark's own check of a streaming plan before its query starts.

Relies on `UnsupportedOperationChecker.checkForStreaming`.
"""

from typing import Any

from pyspark.sql import DataFrame

from tidemill.engine.spark_internals.plan import analysed


def check_streaming(rows: DataFrame, mode: str) -> None:
    """Ask Spark whether it runs a plan in an output mode.

    Args:
        rows: What the query would write.
        mode: The output mode, such as `append`.

    Raises:
        AnalysisException: Spark does not.
    """
    jvm: Any = rows.sparkSession._jvm
    sql = jvm.org.apache.spark.sql
    spark_mode = getattr(sql.streaming.OutputMode, mode.capitalize())()
    checker = sql.catalyst.analysis.UnsupportedOperationChecker
    checker.checkForStreaming(analysed(rows), spark_mode)
