"""Up to which time Spark drops the rows that it keeps for a join of two streams.

Relies on `ExtractEquiJoinKeys`, and on `StreamingJoinHelper.getStateValueWatermark`, of which
`StreamingSymmetricHashJoinHelper.getStateWatermarkPredicates` makes the bounds of both sides.
"""

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from tidemill.engine.spark_internals.plan import items, kind, nodes

# A watermark in milliseconds, so large that py4j hands it over as a Long.
WATERMARK = 2**41
# Microseconds, as Spark holds intervals.
DAY = 24 * 60 * 60 * 10**6


@dataclass(frozen=True)
class JoinedOn:
    """What a join's condition says, as Spark's planner takes it apart.

    Attributes:
        keys: The expressions of each side that must be equal to those of the other one.
        others: The other conditions that all must hold.
    """

    keys: tuple[list[Any], list[Any]]
    others: list[Any]


def joined_on(session: SparkSession, join: Any) -> JoinedOn | None:
    """Take the condition of a join apart; None where no column must be equal to another."""
    jvm: Any = session._jvm
    found = jvm.org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys.unapply(join)
    if not found.isDefined():
        return None
    parts = found.get()
    others = _conjuncts(parts._4().get()) if parts._4().isDefined() else []
    return JoinedOn((items(parts._2()), items(parts._3())), others)


def dropped_up_to(session: SparkSession, condition: Any, side: Any, other: Any) -> int | None:
    """How far after the watermark a condition lets Spark drop the rows of one side.

    Args:
        condition: One of `JoinedOn.others`.
        side: The plan whose rows are dropped.
        other: The plan with which it is joined.

    Returns:
        Milliseconds, negative before the watermark; None where Spark finds no bound in it.
    """
    jvm: Any = session._jvm
    some = jvm.scala.Option.apply
    found = jvm.org.apache.spark.sql.catalyst.analysis.StreamingJoinHelper.getStateValueWatermark(
        side.outputSet(), other.outputSet(), some(condition), some(WATERMARK)
    )
    return int(found.get()) - WATERMARK if found.isDefined() else None


def inexact(session: SparkSession, condition: Any) -> str | None:
    """Why the bound that Spark takes from a condition is not what the condition says, if so.

    Spark computes the bound with days of 24 hours and with fractions of seconds.
    """
    zone = session.conf.get("spark.sql.session.timeZone")
    for one in nodes(condition):
        if kind(one) == "Cast" and _type(one) == "bigint" and _type(one.child()) == "timestamp":
            return "leaves out the fractions of a second"
        if kind(one) == "Literal" and _has_days(one) and not _fixed(session, zone):
            return f"counts in days, and in {zone} a day may have 23 or 25 hours"
    return None


def _has_days(literal: Any) -> bool:
    if _type(literal) == "interval":
        return "day" in str(literal.value().toString())
    return _type(literal).startswith("interval") and abs(int(literal.value())) >= DAY


def _fixed(session: SparkSession, zone: str | None) -> bool:
    jvm: Any = session._jvm
    return bool(jvm.java.time.ZoneId.of(zone).getRules().isFixedOffset())


def _type(expression: Any) -> str:
    return str(expression.dataType().simpleString())


def _conjuncts(condition: Any) -> list[Any]:
    if kind(condition) == "And":
        return [*_conjuncts(condition.left()), *_conjuncts(condition.right())]
    return [condition]
