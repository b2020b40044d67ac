"""Spark's own check of a streaming plan before its query starts.

Relies on `UnsupportedOperationChecker.checkForStreaming`, and on `IncrementalExecution`, with which
`DataFrame.explain` plans a stream too.
"""

from typing import Any

from pyspark.sql import DataFrame

from tidemill.engine.spark_internals.plan import analysed, kind, nodes
from tidemill.engine.spark_internals.plan_outline import Node, outlined

ROW_BY_ROW = frozenset(
    {
        "EventTimeWatermark",
        "Filter",
        "Project",
        "StreamingRelation",
        "StreamingRelationV2",
        "SubqueryAlias",
    }
)
SUBQUERIES = frozenset({"Exists", "InSubquery", "LateralSubquery", "ListQuery", "ScalarSubquery"})


def check_streaming(rows: DataFrame, mode: str) -> None:
    """Ask Spark whether it runs a plan in an output mode, and let it plan a batch once.

    Some plans are refused only by the planner, in each batch of a query (a join of streams without
    an equality, a session window without a key). It refuses none that goes row by row.

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
    if not goes_row_by_row(rows):
        _execution(rows, spark_mode).sparkPlan()


def goes_row_by_row(rows: DataFrame) -> bool:
    """Whether a plan is made of Spark's own functions of single rows."""
    return all(map(_goes_row_by_row, nodes(outlined(rows))))


def _goes_row_by_row(node: Node) -> bool:
    within = (one for expression in node.expressions() for one in nodes(expression))
    return kind(node) in ROW_BY_ROW and not any(
        kind(one) in SUBQUERIES or kind(one).startswith("Python") for one in within
    )


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
