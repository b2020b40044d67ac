"""The shape of one operator with state, as Spark has planned it."""

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from tidemill.compatibility.plan_shape import Aggregate, Column, Operator
from tidemill.engine.query.pipeline_class import DEDUPLICATIONS, EVOLVING, OWN_STATE
from tidemill.engine.shape.expressions import Texts
from tidemill.engine.shape.function_hash import hash_of_function
from tidemill.engine.shape.state_variables import columns_of, variables_of
from tidemill.engine.spark_internals.plan import items, kind, nodes
from tidemill.engine.spark_internals.python_function import python_function


def operator_of(node: Any, texts: Texts, session: SparkSession) -> Operator:
    """The shape of an operator.

    Args:
        texts: The expressions of its inputs.
    """
    if kind(node) == "Join":
        return _join(node, texts)
    if kind(node) == "Aggregate":
        groups = items(node.groupingExpressions())
        keys = tuple(_column(one, texts) for one in groups)
        return Operator(kind="Aggregate", keys=keys, aggregates=tuple(_aggregates(node, texts)))
    if kind(node) in DEDUPLICATIONS:
        keys = tuple(_column(one, texts) for one in items(node.keys()))
        return Operator(kind=kind(node), keys=keys)
    if kind(node) in OWN_STATE:
        return _own(node, texts, session)
    said = tuple(texts.of(one) for one in items(node.expressions()))
    return Operator(kind=kind(node), condition=said)


def _aggregates(node: Any, texts: Texts) -> Iterator[Aggregate]:
    for top in items(node.aggregateExpressions()):
        for one in nodes(top):
            if kind(one) != "AggregateExpression":
                continue
            function = one.aggregateFunction()
            words = [str(function.prettyName())]
            words += ["distinct"] if one.isDistinct() else []
            words += ["filter"] if one.filter().isDefined() else []
            kept = (_type(buffer) for buffer in items(function.aggBufferAttributes()))
            yield Aggregate(
                function=" ".join(words),
                of=texts.columns(one),
                made_of=texts.of(one),
                state=tuple(_runs(kept)),
            )


def _runs(types: Iterator[str]) -> Iterator[str]:
    """Types in their order; some aggregates keep dozens of one."""
    for name, same in groupby(types):
        count = len([*same])
        yield name if count == 1 else f"{count} x {name}"


def _join(node: Any, texts: Texts) -> Operator:
    sides = [items(side.output()) for side in (node.left(), node.right())]
    ids = [{one.exprId().id() for one in side} for side in sides]
    condition = node.condition()
    keys, others = [], []
    for part in _conjuncts(condition.get()) if condition.isDefined() else ():
        pair = _equal(part, ids)
        if pair is None:
            others.append(texts.of(part))
            continue
        left, right = (texts.of(one) for one in pair)
        keys.append(Column(name="key", type=_type(pair[0]), made_of=f"{left} = {right}"))
    return Operator(
        kind="Join",
        keys=tuple(keys),
        join_type=kind(node.joinType()).rstrip("$"),
        condition=tuple(sorted(others)),
        sides=tuple(tuple(_column(one, texts) for one in side) for side in sides),
    )


def _conjuncts(condition: Any) -> Iterator[Any]:
    if kind(condition) == "And":
        yield from _conjuncts(condition.left())
        yield from _conjuncts(condition.right())
    else:
        yield condition


def _equal(part: Any, ids: list[set[int]]) -> tuple[Any, Any] | None:
    """Left and right of an equality between both sides, by which Spark finds rows."""
    if kind(part) != "EqualTo":
        return None
    found = [{r.exprId().id() for r in items(one.references().toSeq())} for one in _both(part)]
    if found[0] and found[1]:
        if found[0] <= ids[0] and found[1] <= ids[1]:
            return part.left(), part.right()
        if found[0] <= ids[1] and found[1] <= ids[0]:
            return part.right(), part.left()
    return None


def _both(part: Any) -> tuple[Any, Any]:
    return part.left(), part.right()


def _own(node: Any, texts: Texts, session: SparkSession) -> Operator:
    """State in a user's own hands; that of the JVM's languages tells less."""
    in_python = kind(node) in ("FlatMapGroupsInPandasWithState", "TransformWithStateInPySpark")
    evolving = kind(node) in EVOLVING
    groups = items(node.leftAttributes() if evolving and in_python else node.groupingAttributes())
    function = python_function(session, node.functionExpr()) if in_python else None
    processor = getattr(getattr(function, "__self__", None), "_stateful_processor", None)
    state = node.stateType() if in_python and not evolving else None
    return Operator(
        kind=kind(node),
        keys=tuple(_column(one, texts) for one in groups),
        state=() if state is None else columns_of(_schema(state)),
        variables=variables_of(processor) if processor is not None else None,
        time=kind(node.timeMode() if evolving else node.timeout()).rstrip("$"),
        function=None if function is None else hash_of_function(processor or function),
    )


def _schema(java: Any) -> StructType:
    return StructType.fromJson(json.loads(java.json()))


def _column(one: Any, texts: Texts) -> Column:
    named = kind(one) in ("AttributeReference", "Alias")
    name = str(one.name()) if named else texts.of(one)
    return Column(name=name, type=_type(one), made_of=texts.of(one))


def _type(expression: Any) -> str:
    return str(expression.dataType().catalogString())
