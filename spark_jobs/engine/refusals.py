"""What a transform may not hold: state, values that differ from run to run, what Spark forbids.

Published rows equal the transform run once as a batch job over the input. A random number or the
current time has no such equal. State has one in mode `append` only with bookkeeping that is not
built yet; in the modes `update` and `complete` an aggregation has it, because each batch gives the
changed rows, or all of them, anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from spark_jobs.contract.errors import SpecError
from spark_jobs.contract.output import OutputMode
from spark_jobs.engine.catalyst import Catalyst, analysed, items, kind

STATEFUL = frozenset(
    {
        "Aggregate",
        "Deduplicate",
        "DeduplicateWithinWatermark",
        "Distinct",
        "FlatMapGroupsInPandasWithState",
        "FlatMapGroupsWithState",
        "GlobalLimit",
        "TransformWithState",
        "TransformWithStateInPySpark",
    }
)
# Spark calls these deterministic, because each has one value in a batch; the next run has another.
CLOCKS = frozenset({"CurrentDate", "CurrentTimestamp", "CurrentTime", "LocalTimestamp", "Now"})


# They give what they meet first or last, or in that order; Spark 4.2 calls them deterministic.
ORDERED = frozenset({"AnyValue", "CollectList", "CollectSet", "First", "Last", "ListAgg"})
SORTED = frozenset({"ArraySort", "SortArray"})
# In mode complete a limit cuts the whole result anew in each batch, and keeps nothing.
ALLOWED = {
    OutputMode.APPEND: frozenset[str](),
    OutputMode.UPDATE: frozenset({"Aggregate"}),
    OutputMode.COMPLETE: frozenset({"Aggregate", "GlobalLimit"}),
}


class ModeUnsupported(SpecError):
    """Spark does not run such a query in the output mode; carries `mode` and `reason`, Spark's."""


class TransformKeepsState(SpecError):
    """The transform needs state; carries `operator`, Spark's name of what needs it."""


class TransformNotRepeatable(SpecError):
    """The transform would give other rows the next time; carries `expression`."""


def refuse_unrepeatable(
    transformed: DataFrame, path: Path, mode: OutputMode = OutputMode.APPEND
) -> None:
    """Look into what a transform made, before a query starts.

    Args:
        transformed: Its result on a streaming DataFrame.
        path: The transform's file, for messages.
        mode: The output mode.

    Raises:
        TransformKeepsState: it deduplicates, joins two streams or, depending on the mode,
            aggregates or limits.
        TransformNotRepeatable: it uses the clock, randomness or the like, or an aggregation that
            depends on the order of rows.
    """
    for node in _nodes(analysed(transformed)):
        if node.isStreaming() and _keeps_state(node) and kind(node) not in ALLOWED[mode]:
            raise TransformKeepsState(
                f"{path}: the transform needs state between batches ({node.nodeName()}), and "
                f"output.mode is {mode}.",
                remedy="Work row by row here, or aggregate in output.mode update or complete.",
                path=path,
                field="transform",
                operator=node.nodeName(),
            )
        for expression in _all(node.expressions()):
            if _unrepeatable(expression, node.isStreaming()):
                raise TransformNotRepeatable(
                    f"{path}: the transform or an expression of the spec uses "
                    f"{expression.prettyName()}(), which gives another value the next time.",
                    remedy="Compute it from the row, so that a retry makes the same rows."
                    if kind(expression) not in ORDERED
                    else "Take max_by or min_by, or sort at once what is collected.",
                    path=path,
                    field="transform",
                    expression=expression.prettyName(),
                )


def refuse_unsupported(rows: DataFrame, path: Path, mode: OutputMode) -> None:
    """Ask Spark whether it runs a query in an output mode, before the query starts.

    Args:
        rows: What the sink would write; those of a batch are not asked about.
        path: The transform's file, for messages.
        mode: The output mode.

    Raises:
        ModeUnsupported: it does not.
    """
    if not rows.isStreaming:
        return
    sql = Catalyst(rows.sparkSession).jvm.org.apache.spark.sql
    spark_mode = getattr(sql.streaming.OutputMode, mode.capitalize())()
    try:
        sql.catalyst.analysis.UnsupportedOperationChecker.checkForStreaming(
            analysed(rows), spark_mode
        )
    except AnalysisException as error:
        reason = " ".join(str(error).split(";")[0].split())
        raise ModeUnsupported(
            f"{path}: Spark does not run the transform in output.mode {mode}: {reason}",
            remedy="Change output.mode or the transform.",
            path=path,
            field="output.mode",
            mode=str(mode),
            reason=reason,
        ) from error


def _unrepeatable(expression: Any, streaming: bool) -> bool:
    """Whether it is the culprit itself, not only something that holds one."""
    if kind(expression) in CLOCKS or (streaming and kind(expression) in ORDERED):
        return True
    return not expression.deterministic() and all(
        child.deterministic() for child in items(expression.children())
    )


def _keeps_state(node: Any) -> bool:
    if kind(node) == "Join":
        return bool(node.left().isStreaming() and node.right().isStreaming())
    return kind(node) in STATEFUL


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for child in items(plan.children()):
        yield from _nodes(child)


def _all(expressions: Any) -> Iterator[Any]:
    """Every expression with those below it; a collection that is sorted at once has no order."""
    for expression in items(expressions):
        yield expression
        collected = expression.children().apply(0) if kind(expression) in SORTED else None
        if collected is not None and kind(collected) == "AggregateExpression":
            yield from _all(collected.aggregateFunction().children())
        else:
            yield from _all(expression.children())
