"""Spark's own check of a streaming plan before its query starts.

Relies on `UnsupportedOperationChecker.checkForStreaming`, and on `IncrementalExecution`, with which
`DataFrame.explain` plans a stream too.
"""

from typing import Any

from pyspark.sql import DataFrame

from tidemill.engine.spark_internals.plan import analysed


def check_streaming(rows: DataFrame, mode: str) -> None:
    """Ask Spark whether it runs a plan in an output mode, and let it plan a batch once.

    Some plans are refused only by the planner, in each batch of a query (a join of streams without
    an equality, a session window without a key).

    Args:
        rows: What the query would write.
        mode: The output mode, such as `append`.

    Raises:
        PySparkException: Spark does not run it.
    """
    jvm: Any = rows.sparkSession._jvm
    sql = jvm.org.apache.spark.sql
    spark_mode = getattr(sql.streaming.OutputMode, mode.capitalize())()
    checker = sql.catalyst.analysis.UnsupportedOperationChecker
    checker.checkForStreaming(analysed(rows), spark_mode)
    _execution(rows, spark_mode).sparkPlan()


def _execution(rows: DataFrame, mode: Any) -> Any:
    """The execution of a batch of a plan, of which nothing has run."""
    jvm: Any = rows.sparkSession._jvm
    streaming = jvm.org.apache.spark.sql.execution.streaming
    execution = streaming.runtime.IncrementalExecution
    metadata = streaming.checkpointing.OffsetSeqMetadata
    return execution(
        rows.sparkSession._jsparkSession,
        analysed(rows),
        mode,
        "<unknown>",
        jvm.java.util.UUID.randomUUID(),
        jvm.java.util.UUID.randomUUID(),
        0,
        jvm.scala.Option.empty(),
        metadata.apply("{}"),
        streaming.runtime.WatermarkPropagator.noop(),
        False,
        *(getattr(execution, f"$lessinit$greater$default${n}")() for n in range(12, 16)),
    )
