"""What a transform may not hold: state, and values that differ from run to run.

Published rows equal the transform run once as a batch job over the input. A random number or the
current time has no such equal; state has one only with the bookkeeping that is not built yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from spark_jobs.contract.errors import SpecError
from spark_jobs.engine.catalyst import analysed, items, kind

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


class TransformKeepsState(SpecError):
    """The transform needs state; carries `operator`, Spark's name of what needs it."""


class TransformNotRepeatable(SpecError):
    """The transform would give other rows the next time; carries `expression`."""


def refuse_unrepeatable(transformed: DataFrame, path: Path) -> None:
    """Look into what a transform made, before a query starts.

    Args:
        transformed: Its result on a streaming DataFrame.
        path: The transform's file, for messages.

    Raises:
        TransformKeepsState: it aggregates, deduplicates, limits or joins two streams.
        TransformNotRepeatable: it uses the clock, randomness or the like.
    """
    for node in _nodes(analysed(transformed)):
        if node.isStreaming() and _keeps_state(node):
            raise TransformKeepsState(
                f"{path}: the transform needs state between batches ({node.nodeName()}).",
                remedy="Work row by row here, and aggregate the published table.",
                path=path,
                field="transform",
                operator=node.nodeName(),
            )
        for expression in _all(node.expressions()):
            if _unrepeatable(expression):
                raise TransformNotRepeatable(
                    f"{path}: the transform or an expression of the spec uses "
                    f"{expression.prettyName()}(), which gives another value the next time.",
                    remedy="Compute it from the row, so that a retry makes the same rows.",
                    path=path,
                    field="transform",
                    expression=expression.prettyName(),
                )


def _unrepeatable(expression: Any) -> bool:
    """Whether it is the culprit itself, not only something that holds one."""
    if kind(expression) in CLOCKS:
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
    for expression in items(expressions):
        yield expression
        yield from _all(expression.children())
