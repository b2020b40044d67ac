"""Maps instants to partitions as Spark computes them, and partitions back to instants.

Expressions are asked minute by minute for the interval and the days around it, and for each quarter
of an hour beyond: whole months and years end there too, whatever the time zone.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DateType, StructType, TimestampNTZType, TimestampType

from tidemill.contract.errors import Refused

# The columns that hold the time, with their types.
Clock = Mapping[str, DataType]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
MINUTE, QUARTER = timedelta(minutes=1), timedelta(minutes=15)
# How far to look beyond an interval with each; the partitions of a year end within the last.
STEPS = ((MINUTE, timedelta(hours=26)), (QUARTER, timedelta(days=400)))
# More of them are not partitions that anybody lists in a directory.
MOST = 100_000
TIMES = (TimestampType, TimestampNTZType, DateType)


class IntervalUncut(Refused):
    """An interval cannot be told from its partitions; carries `column`."""


class Between(NamedTuple):
    """Partitions, and the stretch of time that they are.

    Args:
        first: The first instant of it; None where they are not one stretch, such as all Mondays.
        until: The first instant after it.
    """

    values: set[tuple[str, ...]]
    first: datetime | None = None
    until: datetime | None = None


def partitions_between(
    session: SparkSession,
    expressions: Mapping[str, str],
    clock: Clock,
    zone: ZoneInfo,
    start: datetime,
    end: datetime,
) -> Between:
    """The partitions that the instants of an interval are in.

    Args:
        expressions: Partition column -> what it is made of.
        clock: The columns that the expressions name.
        start: Inclusive.
        end: Exclusive.

    Raises:
        IntervalUncut: the clock has no time, or the partitions are finer than minutes.
    """
    column = next(iter(expressions))
    by_the_wall = has_no_zone(clock)
    if by_the_wall:
        # It skips an hour in spring, which rows without a time zone may well have.
        walls = _walls(start, end, zone)
        start, end = min(walls), max(walls) + MICROSECOND
    times = _times(session, start, end, by_the_wall=by_the_wall)
    at = times.select(*(_time(kind).alias(name) for name, kind in clock.items()), "inside", "us")
    columns = [F.expr(sql).cast("string").alias(name) for name, sql in expressions.items()]
    marks = (F.max("inside").alias("inside"), F.min("us").alias("first"), F.max("us").alias("last"))
    # As Arrow, for around an interval there are thousands of hours.
    groups = at.select(*columns, "inside", "us").groupBy(*expressions).agg(*marks).toArrow()
    within = groups.filter(groups["inside"]).to_pylist()
    own = [g for g in within if all(g[n] not in (None, "") for n in expressions)]
    if not own or len(own) > MOST:
        raise uncut(column, f"there are {len(own):,} from {start} to {end}")
    if any(g["first"] is None for g in own):
        raise uncut(column, "they are finer than minutes")
    values = {tuple(g[name] for name in expressions) for g in own}
    around = groups.filter(pc.invert(groups["inside"])).select(["first", "last"])
    bounds = _stretch(own, around.to_pylist())
    if bounds is None:
        return Between(values)
    first, until = (EPOCH + us * MICROSECOND for us in bounds)
    if by_the_wall:
        first, until = (t.replace(tzinfo=zone).astimezone(UTC) for t in (first, until))
    return Between(values, first, until)


def has_no_zone(clock: Clock) -> bool:
    """Whether times are those of the clock on the wall.

    Raises:
        IntervalUncut: one is not a time.
    """
    leaves = []
    for name, kind in clock.items():
        types = [f.dataType for f in kind.fields] if isinstance(kind, StructType) else [kind]
        other = next((one for one in types if not isinstance(one, TIMES)), None)
        if other is not None:
            raise uncut(name, f"it is {other.simpleString()}, which is not a time")
        leaves += types
    return any(isinstance(leaf, TimestampNTZType) for leaf in leaves)


def on_the_wall(at: datetime, zone: ZoneInfo) -> datetime:
    """The local time at an instant, as if it were UTC."""
    return at.astimezone(zone).replace(tzinfo=UTC, fold=0)


def _walls(start: datetime, end: datetime, zone: ZoneInfo) -> list[datetime]:
    """What the clock on the wall shows from an interval's start to its end, at the least its ends
    and whatever it shows before it is put back.
    """
    quarters = range(1, (end - start) // QUARTER + 1)
    turns = [start + number * QUARTER for number in quarters]
    instants = [start, *turns, *(turn - MICROSECOND for turn in turns), end - MICROSECOND]
    return [on_the_wall(at, zone) for at in instants if at < end]


def _times(
    session: SparkSession, start: datetime, end: datetime, *, by_the_wall: bool
) -> DataFrame:
    """An interval's times and those around it: `t`, `us` (null for its two ends) and `inside`."""
    begin, until = (start - EPOCH) // MICROSECOND, (end - EPOCH) // MICROSECOND
    parts = [_every(session, step, begin, until, around) for step, around in STEPS]
    ends = session.range(0, 2, 1, 1).select(
        F.when(F.col("id") == 0, F.lit(begin)).otherwise(F.lit(until - 1)).alias("at"),
        F.lit(None).cast("long").alias("us"),
    )
    times = ends.unionAll(parts[0]).unionAll(parts[1]).coalesce(1)
    time = F.timestamp_micros("at")
    if by_the_wall:
        wall = F.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
        time = F.timestamp_add("MICROSECOND", F.col("at"), wall)
    inside = (F.col("at") >= begin) & (F.col("at") < until)
    return times.select(time.alias("t"), "us", inside.alias("inside"))


def _every(
    session: SparkSession, step: timedelta, begin: int, until: int, around: timedelta
) -> DataFrame:
    each, more = step // MICROSECOND, around // MICROSECOND
    numbers = session.range((begin - more) // each, (until + more) // each + 1, 1, 1)
    at = F.col("id") * each
    return numbers.select(at.alias("at"), at.alias("us"))


def _stretch(
    own: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]
) -> tuple[int, int] | None:
    """From the first time of some partitions to the first of others after them.

    None where they are not one stretch of time, or where it does not end nearby.
    """
    first, last = min(g["first"] for g in own), max(g["last"] for g in own)
    seen = [g for g in others if g["first"] is not None]
    before = [g for g in seen if g["last"] < first]
    after = [g["first"] for g in seen if g["first"] > last]
    if not before or not after or len(before) + len(after) < len(seen):
        return None
    return first, min(after)


def _time(kind: DataType) -> Column:
    """A time as the column that partitions are made of; of a window both ends are that time."""
    if isinstance(kind, StructType):
        return F.struct(*(F.col("t").cast(f.dataType).alias(f.name) for f in kind.fields))
    return F.col("t").cast(kind)


def uncut(column: str, why: str) -> IntervalUncut:
    """The refusal of an interval for a partition column."""
    return IntervalUncut(
        f"output.partition_by.{column}: an interval cannot be told from its partitions: {why}.",
        remedy=f"Name the partitions instead, each with --partition {column}=VALUE; or partition "
        "by dates or hours of the event time, such as to_date(at).",
        column=column,
        why=why,
    )
