"""From an interval to whole partitions: which values its instants have, and what else has them.

A partition's expression is asked, by Spark and in the spec's time zone, for the instants of the
interval, minute by minute: so days have 23 or 25 hours where they do, and an hourly interval on
daily partitions becomes the day. Looking beyond the interval on both sides tells where its
partitions begin and end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    DateType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from spark_jobs.contract.errors import Refused
from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.contract.spec import Spec
from spark_jobs.engine.partitions import columns_named, of_result, of_sources
from spark_jobs.engine.source import read_stream
from spark_jobs.ledger.batches import Ledger
from spark_jobs.ledger.generations import generation_of
from spark_jobs.ledger.partitions import Partitions

MINUTE = timedelta(minutes=1)
# Partitions of a year, and of a month whatever the interval's place in it, end within it.
BEYOND = timedelta(days=400)
# More of them are no partitions that anybody lists in a directory.
MOST = 100_000
TIMES = (TimestampType, TimestampNTZType, DateType)


class IntervalUncut(Refused):
    """An interval cannot be told from its partitions; carries `column`."""


@dataclass(frozen=True)
class Extent:
    """Whole partitions, and the event times that they cover.

    Args:
        partitions: By value.
        start: UTC, inclusive; None where they are of all times.
        end: UTC, exclusive; None as `start`.
        wall: The same two as the clock on the wall shows them, as if that were UTC: by which
            Spark keeps the watermark of event times without a time zone. None for others.
        of_windows: Whether these are times of the result's windows, not of the rows read.
    """

    partitions: Partitions
    start: datetime | None = None
    end: datetime | None = None
    wall: tuple[datetime, datetime] | None = None
    of_windows: bool = False


class _Clock(NamedTuple):
    """Where partitions take their time from: a column, and its type."""

    column: str
    type: DataType


def extent_of(session: SparkSession, pipeline: Pipeline, start: datetime, end: datetime) -> Extent:
    """The whole partitions that an interval touches.

    Args:
        session: In the spec's time zone.
        pipeline: Whose partitions.
        start: With a time zone, inclusive.
        end: With a time zone, exclusive.

    Returns:
        The partitions by those columns that are made of nothing but the event time, or the
        result's windows; without any, the whole table.

    Raises:
        IntervalUncut: the event time is no time, or the partitions are finer than minutes.
    """
    expressions = _of_time(pipeline.spec)
    if not expressions:
        return Extent(Partitions())
    windows = not expressions.keys() <= of_sources(pipeline.spec).keys()
    clocks = _of_result_clock(pipeline, expressions) if windows else _clocks(session, pipeline)
    found = [_values(session, expressions, clock, start, end) for clock in clocks]
    values = sorted({value for values, _, _ in found for value in values})
    if not values:
        raise _uncut(next(iter(expressions)), f"no time from {start} to {end} has a partition")
    bounds = [(first, until) for _, first, until in found]
    walls = [c for c in clocks if isinstance(c.type, TimestampNTZType)]
    if any(first is None for first, _ in bounds):
        first = until = wall = None
    else:
        first = min(first for first, _ in bounds if first is not None)
        until = max(until for _, until in bounds if until is not None)
        wall = _wall(session, first, until) if walls else None
    partitions = Partitions(columns=tuple(expressions), values=tuple(values))
    return Extent(partitions, first, until, wall, windows)


def _of_time(spec: Spec) -> dict[str, str]:
    """The partition columns that are made of the time alone, with their expressions."""
    times = {time.column.lower() for name in spec.sources if (time := spec.event_time_of(name))}
    of_rows = {
        name: sql
        for name, sql in of_sources(spec).items()
        if {word.lower() for word in columns_named(sql)} <= times and columns_named(sql)
    }
    if of_rows:
        return of_rows
    # Of several times of the result, one row may have different ones: those of one tell enough.
    by_column: dict[frozenset[str], dict[str, str]] = {}
    for name, sql in of_result(spec).items():
        by_column.setdefault(frozenset(columns_named(sql)), {})[name] = sql
    return next(iter(by_column.values()), {})


def _clocks(session: SparkSession, pipeline: Pipeline) -> list[_Clock]:
    """The event times of the sources, each type once."""
    spec = pipeline.spec
    found = {}
    for name in spec.sources:
        time = spec.event_time_of(name)
        if time is not None:
            schema = read_stream(session, pipeline, name).schema
            clock = _Clock(time.column, _type_in(schema, time.column))
            found[clock.column, clock.type.simpleString()] = clock
    return [*found.values()]


def _of_result_clock(pipeline: Pipeline, expressions: Mapping[str, str]) -> list[_Clock]:
    """The window or event time of the result; its type is that of the last columns written."""
    column = next(iter(columns_named(next(iter(expressions.values())))))
    starts = Ledger(pipeline.layout, generation_of(pipeline)).starts()
    schema = StructType.fromJson(starts[-1].table_schema) if starts else StructType()
    known = {field.name.lower() for field in schema.fields}
    if column.lower() not in known:
        # Nothing was written yet, or under another name.
        struct = any(f"{column}." in sql for sql in expressions.values())
        fields = [StructField(name, TimestampType()) for name in ("start", "end")]
        return [_Clock(column, StructType(fields) if struct else TimestampType())]
    return [_Clock(column, _type_in(schema, column))]


def _type_in(schema: StructType, column: str) -> DataType:
    return next(f.dataType for f in schema.fields if f.name.lower() == column.lower())


def _values(
    session: SparkSession,
    expressions: Mapping[str, str],
    clock: _Clock,
    start: datetime,
    end: datetime,
) -> tuple[set[tuple[str, ...]], datetime | None, datetime | None]:
    """The partitions of an interval, and from when to when others have none of them."""
    leaf = _leaf(clock)
    instants = _instants(session, start, end)
    if isinstance(leaf, TimestampNTZType):
        # By the clock on the wall, whose skipped hour rows without a time zone may well have.
        row = instants.where("inside").agg(F.min(_wall_us(F.col("t"))), F.max(_wall_us(F.col("t"))))
        first, last = row.collect()[0]
        wall = F.col("t").cast("timestamp_ntz")
        walls = session.range(
            (first - _us(BEYOND)) // _us(MINUTE), (last + _us(BEYOND)) // _us(MINUTE) + 1
        ).select((F.col("id") * _us(MINUTE)).alias("us"))
        seen = walls.select(
            _wall_of(F.col("us")).alias("t"),
            F.col("us").between(first, last).alias("inside"),
            F.floor(F.col("us") / _us(MINUTE)).alias("minute"),
        ).unionByName(
            instants.where("inside AND minute IS NULL").select(
                wall.alias("t"), "inside", F.lit(None).cast("long").alias("minute")
            )
        )
    else:
        seen = instants
    at = seen.select(_column(clock).alias(clock.column), "inside", "minute")
    columns = [F.expr(sql).cast("string").alias(name) for name, sql in expressions.items()]
    groups = (
        at.select(*columns, "inside", "minute")
        .groupBy(*expressions)
        .agg(
            F.max("inside").alias("inside"),
            F.min("minute").alias("first"),
            F.max("minute").alias("last"),
            F.count("minute").alias("minutes"),
        )
        .where("inside")
        .limit(MOST + 1)
        .collect()
    )
    if len(groups) > MOST:
        raise _uncut(next(iter(expressions)), f"the interval has more than {MOST:,} partitions")
    if not all(g["minutes"] for g in groups):
        raise _uncut(next(iter(expressions)), "they are finer than minutes")
    named = [g for g in groups if all(g[name] not in (None, "") for name in expressions)]
    values = {tuple(g[name] for name in expressions) for g in named}
    return values, *_bounds(session, leaf, named, start, end)


def _instants(session: SparkSession, start: datetime, end: datetime) -> DataFrame:
    """Every minute of an interval and of the time around it, and the interval's two ends."""
    begin, until = _micros(start), _micros(end)
    minutes = session.range(
        (begin - _us(BEYOND)) // _us(MINUTE), (until + _us(BEYOND)) // _us(MINUTE) + 1
    ).select((F.col("id") * _us(MINUTE)).alias("us"), F.col("id").alias("minute"))
    ends = session.createDataFrame([(begin,), (until - 1,)], "us long").select(
        "us", F.lit(None).cast("long").alias("minute")
    )
    inside = (F.col("us") >= begin) & (F.col("us") < until)
    return minutes.unionByName(ends).select(
        F.timestamp_micros("us").alias("t"), inside.alias("inside"), "minute"
    )


def _bounds(
    session: SparkSession, leaf: DataType, groups: list[Any], start: datetime, end: datetime
) -> tuple[datetime | None, datetime | None]:
    """From the first minute of some partitions to the one after their last.

    Nothing where they are not one stretch of time, such as all Mondays, or do not end nearby.
    """
    stretches = sorted((g["first"], g["last"]) for g in groups)
    whole = all(g["last"] - g["first"] + 1 == g["minutes"] for g in groups)
    joined = all(a[1] + 1 == b[0] for a, b in pairwise(stretches))
    if not stretches or not whole or not joined:
        return None, None
    first, until = stretches[0][0], stretches[-1][1] + 1
    times = [datetime.fromtimestamp(m * 60, UTC) for m in (first, until)]
    if isinstance(leaf, TimestampNTZType):
        times = [_instant_of(session, time) for time in times]
    near = timedelta(days=2)
    if times[0] <= start - BEYOND + near or times[1] >= end + BEYOND - near:
        return None, None
    return times[0], times[1]


def _column(clock: _Clock) -> Column:
    """A time as the column that partitions are made of; of a window both ends are that time."""
    if isinstance(clock.type, StructType):
        parts = [F.col("t").cast(f.dataType).alias(f.name) for f in clock.type.fields]
        return F.struct(*parts)
    return F.col("t").cast(clock.type)


def _leaf(clock: _Clock) -> DataType:
    """The type of the time itself.

    Raises:
        IntervalUncut: it is none.
    """
    types = (
        [field.dataType for field in clock.type.fields]
        if isinstance(clock.type, StructType)
        else [clock.type]
    )
    other = next((one for one in types if not isinstance(one, TIMES)), None)
    if other is not None:
        raise _uncut(clock.column, f"it is {other.simpleString()}, which is no time")
    return types[0]


def _wall(session: SparkSession, start: datetime, end: datetime) -> tuple[datetime, datetime]:
    row = session.createDataFrame([(_micros(start), _micros(end))], "a long, b long").select(
        *(_wall_us(F.timestamp_micros(name)) for name in ("a", "b"))
    )
    first, last = row.collect()[0]
    return _from_micros(first), _from_micros(last)


def _instant_of(session: SparkSession, wall: datetime) -> datetime:
    """The instant at which the clock on the wall shows a time, in the session's time zone."""
    row = session.createDataFrame([(_micros(wall),)], "us long")
    found = row.select(F.unix_micros(_wall_of(F.col("us")).cast("timestamp"))).collect()[0][0]
    return _from_micros(int(found))


def _wall_us(instant: Column) -> Column:
    """What the clock on the wall shows, in microseconds as if that were UTC."""
    epoch = F.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
    return F.timestamp_diff("MICROSECOND", epoch, instant.cast("timestamp_ntz"))


def _wall_of(micros: Column) -> Column:
    epoch = F.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
    return F.timestamp_add("MICROSECOND", micros, epoch)


def _us(span: timedelta) -> int:
    return span // timedelta(microseconds=1)


def _micros(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _from_micros(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def _uncut(column: str, why: str) -> IntervalUncut:
    return IntervalUncut(
        f"output.partition_by.{column}: an interval cannot be told from its partitions: {why}.",
        remedy="Partition by dates or hours of the event time, such as to_date(at).",
        column=column,
        why=why,
    )
