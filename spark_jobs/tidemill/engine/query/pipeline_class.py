"""The class of a pipeline, read from the analysed plan of its transform."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

from tidemill.contract.pipeline_class import PipelineClass
from tidemill.engine.spark_internals.plan import items, kind, nodes
from tidemill.engine.spark_internals.plan_outline import outlined
from tidemill.spec.output import OutputMode

# What Spark marks the attributes of a watermark with, and all that is made of them alone.
WATERMARK = "spark.watermarkDelayMs"
AGGREGATIONS = frozenset({"Aggregate", "Distinct"})
DEDUPLICATIONS = frozenset({"Deduplicate", "DeduplicateWithinWatermark"})
OWN_STATE = frozenset(
    {
        "FlatMapGroupsInPandasWithState",
        "FlatMapGroupsWithState",
        "TransformWithState",
        "TransformWithStateInPySpark",
    }
)
EVOLVING = frozenset({"TransformWithState", "TransformWithStateInPySpark"})
# They give what they meet first or last, or in that order; Spark 4.2 calls them deterministic.
FIRST_COME = frozenset({"AnyValue", "CollectList", "CollectSet", "First", "Last", "ListAgg"})
# To these it does not matter in which order something was collected.
ORDERLESS = frozenset({"ArraySort", "Size", "SortArray"})
RANK = (PipelineClass.MAP, PipelineClass.WINDOW, PipelineClass.ORDERED, PipelineClass.UNBOUNDED)


def class_of(transformed: DataFrame, mode: OutputMode) -> PipelineClass:
    """The class of what a transform made of streaming rows.

    Args:
        mode: In complete every group is kept for ever, whatever its watermark (Structured
            Streaming guide, "Conditions for watermarking to clean aggregation state").
    """
    streaming = [node for node in nodes(outlined(transformed)) if node.isStreaming()]
    if mode is OutputMode.COMPLETE and any(kind(node) in AGGREGATIONS for node in streaming):
        return PipelineClass.UNBOUNDED
    return max(map(_class_of, streaming), key=RANK.index, default=PipelineClass.MAP)


def state_encoding(transformed: DataFrame) -> str:
    """How Spark encodes the state: as Avro, whose schema may change, where all of it is of a kind
    that Spark can encode so (`transformWithState`).
    """
    stream_nodes = [node for node in nodes(outlined(transformed)) if node.isStreaming()]
    kinds = {kind(node) for node in stream_nodes if keeps_state(node)}
    return "avro" if kinds and kinds <= EVOLVING else "unsaferow"


def keeps_state(node: Any) -> bool:
    """Whether Spark keeps state between batches for a node of a streaming plan."""
    if kind(node) == "Join":
        return bool(node.left().isStreaming() and node.right().isStreaming())
    return kind(node) in AGGREGATIONS | DEDUPLICATIONS | OWN_STATE | {"GlobalLimit"}


def below(expressions: Any) -> Iterator[Any]:
    """Every expression with those below it; one that is sorted or counted at once has no order."""
    for expression in items(expressions):
        yield expression
        collected = items(expression.children())[0] if kind(expression) in ORDERLESS else None
        if collected is not None and kind(collected) == "AggregateExpression":
            yield from below(collected.aggregateFunction().children())
        else:
            yield from below(expression.children())


def _class_of(node: Any) -> PipelineClass:
    if not keeps_state(node):
        return PipelineClass.MAP
    if kind(node) in AGGREGATIONS:
        return _class_of_aggregate(node)
    if kind(node) == "Join":
        return _class_of_join(node)
    if kind(node) == "Deduplicate":
        bounded = any(_under_watermark(key) for key in items(node.keys()))
        return PipelineClass.ORDERED if bounded else PipelineClass.UNBOUNDED
    # Within a watermark, or in a user's own hands, where timers may end what was begun.
    return PipelineClass.ORDERED


def _class_of_aggregate(node: Any) -> PipelineClass:
    if kind(node) == "Distinct":
        return PipelineClass.UNBOUNDED
    groups = [group for group in items(node.groupingExpressions()) if _under_watermark(group)]
    if not groups:
        return PipelineClass.UNBOUNDED
    sessions = any("spark.sessionWindow" in metadata(group) for group in groups)
    ordered = sessions or any(kind(one) in FIRST_COME for one in below(node.expressions()))
    return PipelineClass.ORDERED if ordered else PipelineClass.WINDOW


def _class_of_join(node: Any) -> PipelineClass:
    inner = kind(node.joinType()).rstrip("$") == "Inner"
    condition = node.condition()
    joined = items(condition.get().references().toSeq()) if condition.isDefined() else []
    sides = [
        {one.exprId().id() for one in items(side.output()) if _under_watermark(one)}
        for side in (node.left(), node.right())
    ]
    # State is dropped only where the condition holds the event times of both sides together.
    bounded = all(any(one.exprId().id() in side for one in joined) for side in sides)
    if not bounded:
        return PipelineClass.UNBOUNDED
    return PipelineClass.WINDOW if inner else PipelineClass.ORDERED


def _under_watermark(expression: Any) -> bool:
    return WATERMARK in metadata(expression) or any(
        WATERMARK in metadata(one) for one in items(expression.references().toSeq())
    )


def metadata(expression: Any) -> str:
    """What Spark notes of a column, as JSON; empty for any other expression."""
    # Whatever it is asked for, an object behind py4j says that it has it.
    named = kind(expression) in ("AttributeReference", "Alias")
    return str(expression.metadata().json()) if named else ""
