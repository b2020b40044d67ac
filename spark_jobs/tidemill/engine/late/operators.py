"""The operators of a streaming plan that drop late rows, and the column they judge by.

A row is late for a stateful operator where its event time, or the end of its window, is not after
the watermark of the batch before (Spark 4.2, `WatermarkSupport.watermarkExpression`). Which
operators ask that, and of which rows, was read in Spark's code and is held against what Spark does
by tests:

- an aggregation by event time or window, in the modes append and update; of sessions in every mode;
- each side of a join of two streams;
- both deduplications, whether or not the event time is among the keys;
- state of one's own by event time: `transformWithState` in time mode EventTime,
  `applyInPandasWithState` with an event-time timeout.

What one operator gives to the next is never late there: Spark delays the next one's watermark so.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from tidemill.engine.query.pipeline_class import (
    AGGREGATIONS,
    DEDUPLICATIONS,
    EVOLVING,
    OWN_STATE,
    WATERMARK,
    keeps_state,
)
from tidemill.engine.query.read_once import RELATIONS
from tidemill.engine.spark_internals.catalyst import Catalyst
from tidemill.engine.spark_internals.plan import analysed, items, kind, nodes, optimised
from tidemill.spec.output import OutputMode

SESSION = "spark.sessionWindow"
STATEFUL = AGGREGATIONS | DEDUPLICATIONS | OWN_STATE | {"Join"}
# What is above them goes by another watermark, and rows that are united with theirs do too.
DELAYING = OWN_STATE | {"Join"}


@dataclass(frozen=True)
class Drop:
    """The place where an operator drops late rows.

    Args:
        place: The place of the operator among the `candidates`.
        side: 0, or 1 for the right side of a join.
        column: Position of the event time or window among the columns that it is given.
        operator: For people, such as `Join 1`.
        source: The sources whose rows get there without passing another operator with state.
    """

    place: int
    side: int
    column: int
    operator: str
    source: str


@dataclass(frozen=True)
class Rule:
    """The late rows that a streaming plan drops.

    Args:
        drops: Every place.
        stateful: The places of all operators with state.
        kinds: The kinds of all candidates, to compare a batch's plan with the stream's.
        unclear: Why it cannot be said what one of them passes over; None where it can.
    """

    drops: tuple[Drop, ...]
    stateful: frozenset[int]
    kinds: tuple[str, ...]
    unclear: str | None = None


def rule_of(transformed: DataFrame, mode: OutputMode) -> Rule:
    """The places where late rows are dropped.

    Args:
        transformed: What the transform made of streams.
    """
    plan = Catalyst(transformed.sparkSession).inlined(analysed(transformed))
    places = candidates(plan)
    stateful = [place for place, node in enumerate(places) if _keeps(node)]
    as_planned = candidates(optimised(transformed.sparkSession, plan))
    planned = [node for node in as_planned if _keeps(node)]
    unclear = None
    if [_planned_as(places[place]) for place in stateful] != [kind(node) for node in planned]:
        unclear = "Spark plans other operators than the transform has"
        planned = []
    drops = []
    for number, (place, node) in enumerate(zip(stateful, planned, strict=False)):
        for side, (child, optimised_child) in enumerate(
            zip(sides(places[place]), sides(node), strict=True)
        ):
            column = _column(places[place], child, mode)
            source = ", ".join(sorted(set(_sources(child))))
            if column is None or not source or not _times(node, optimised_child, mode):
                continue
            operator = f"{kind(places[place])} {number}"
            drops.append(Drop(place, side, column, operator, source))
            if any(kind(one) in DELAYING and _keeps(one) for one in candidates(child)):
                unclear = f"{operator} is given rows of {source} together with joined ones"
    kinds = tuple(kind(node) for node in places)
    return Rule(tuple(drops), frozenset(stateful), kinds, unclear)


def candidates(plan: Any) -> list[Any]:
    """The nodes that keep state in a stream, and those of static rows of the same kinds, in order.

    In the plan of a batch they are the same.
    """
    return [node for node in nodes(plan) if kind(node) in STATEFUL]


def sides(node: Any) -> list[Any]:
    """An operator's input, without a user's initial state."""
    return [node.left(), node.right()] if kind(node) == "Join" else [node.child()]


def without_state(plan: Any, rule: Rule, catalyst: Catalyst, places: Iterator[int]) -> Any:
    """A part of a batch's plan in which nothing comes out of the operators with state.

    Args:
        plan: The part.
        places: The places of the candidates in the part, in order.
    """
    below = candidates(plan)
    if not below:
        return plan
    if kind(plan) in STATEFUL and next(places) in rule.stateful:
        for _ in below[1:]:
            next(places)
        return catalyst.LocalRelation(plan.output(), catalyst.seq([]), False, catalyst.none)
    children = [without_state(child, rule, catalyst, places) for child in items(plan.children())]
    return plan.withNewChildren(catalyst.seq(children)) if children else plan


def _keeps(node: Any) -> bool:
    return bool(node.isStreaming() and keeps_state(node))


def _planned_as(node: Any) -> str:
    return "Aggregate" if kind(node) in AGGREGATIONS else kind(node)


def _column(node: Any, child: Any, mode: OutputMode) -> int | None:
    """Position of what decides whether a row is late; None where nothing does."""
    times = _times(node, child, mode)
    ids = [attribute.exprId().id() for attribute in items(child.output())]
    return ids.index(times[0].exprId().id()) if times else None


def _times(node: Any, child: Any, mode: OutputMode) -> list[Any]:
    """The columns by which an operator knows that a row is late.

    Spark leaves out columns that nothing asks for: a deduplication by key, or a join, may be given
    no event time by its optimised plan, and then knows of no row that it is late.
    """
    attributes = items(child.output())
    if kind(node) == "Aggregate":
        groups = items(node.groupingExpressions())
        attributes = [attribute for attribute in groups if kind(attribute) == "AttributeReference"]
    times = [attribute for attribute in attributes if WATERMARK in _metadata(attribute)]
    if kind(node) in AGGREGATIONS and mode is OutputMode.COMPLETE:
        return [attribute for attribute in times if SESSION in _metadata(attribute)]
    if kind(node) in EVOLVING and _name(node.timeMode()) != "EventTime":
        return []
    if kind(node) in OWN_STATE - EVOLVING and _name(node.timeout()) != "EventTimeTimeout":
        return []
    return times


def _sources(plan: Any) -> Iterator[str]:
    """The streams whose rows come out of a plan, but for those that pass state in it."""
    if not plan.isStreaming() or (kind(plan) in STATEFUL and keeps_state(plan)):
        return
    if kind(plan) in RELATIONS:
        # It says `name="orders"`.
        yield str(plan.sourceIdentifyingName().toString()).split('"')[1]
    for child in items(plan.children()):
        yield from _sources(child)


def _metadata(expression: Any) -> str:
    return str(expression.metadata().json())


def _name(scala_object: Any) -> str:
    return kind(scala_object).rstrip("$")
