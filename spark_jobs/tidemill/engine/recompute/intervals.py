"""Extends an interval to whole partitions.

Partitions are told by value, in the spec's time zone: days have 23 or 25 hours where they do, and
an hourly interval on daily partitions becomes the day.
"""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, StructField, StructType, TimestampType

from tidemill.engine.query.partition_columns import (
    result_partitions,
    source_partitions,
)
from tidemill.engine.recompute.instants import (
    Clock,
    IntervalUncut,
    has_no_zone,
    on_the_wall,
    partitions_between,
    uncut,
)
from tidemill.engine.sources.kinds import read_stream
from tidemill.engine.spark_internals.plan_outline import columns_named
from tidemill.journal.partition_set import Partitions
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.ledger import Ledger
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.spec import Spec

__all__ = ["Extent", "IntervalUncut", "extent_of"]


@dataclass(frozen=True)
class Extent:
    """Whole partitions, and the event times that they cover.

    Args:
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


def extent_of(session: SparkSession, pipeline: Pipeline, start: datetime, end: datetime) -> Extent:
    """The whole partitions that an interval touches.

    Returns:
        The partitions by those columns that are made of nothing but the event time, or the
        result's windows; without any, the whole table.

    Raises:
        IntervalUncut: there is no event time, it is not a time, or the partitions are finer than
            minutes.
    """
    spec = pipeline.spec
    if spec.output.partition_by and all(spec.event_time_of(name) is None for name in spec.sources):
        raise uncut(next(iter(spec.output.partition_by)), "its sources have no event time")
    expressions = _of_time(spec)
    if not expressions:
        return Extent(Partitions())
    windows = not expressions.keys() <= source_partitions(pipeline.spec).keys()
    clocks = _of_result_clock(pipeline, expressions) if windows else _clocks(session, pipeline)
    zone = ZoneInfo(pipeline.spec.timezone)
    per_clock = [
        partitions_between(session, expressions, clock, zone, start, end) for clock in clocks
    ]
    values = sorted({value for between in per_clock for value in between.values})
    partitions = Partitions(columns=tuple(expressions), values=tuple(values))
    firsts = [between.first for between in per_clock if between.first is not None]
    untils = [between.until for between in per_clock if between.until is not None]
    if len(firsts) < len(per_clock):
        return Extent(partitions, of_windows=windows)
    first, until = min(firsts), max(untils)
    wall = None
    if any(map(has_no_zone, clocks)):
        wall = (on_the_wall(first, zone), on_the_wall(until, zone))
    return Extent(partitions, first, until, wall, windows)


def _of_time(spec: Spec) -> dict[str, str]:
    """The partition columns that are made of the time alone, with their expressions."""
    times = [spec.event_time_of(name) for name in spec.sources]
    columns = {time.column.lower() if time else "" for time in times}
    of_rows = {
        name: sql
        for name, sql in source_partitions(spec).items()
        if {word.lower() for word in columns_named(sql)} == columns
    }
    if of_rows:
        return of_rows
    # A row may have several event times in the result: the times of one column are enough.
    by_column: dict[frozenset[str], dict[str, str]] = {}
    for name, sql in result_partitions(spec).items():
        by_column.setdefault(frozenset(columns_named(sql)), {})[name] = sql
    return next(iter(by_column.values()), {})


def _clocks(session: SparkSession, pipeline: Pipeline) -> list[Clock]:
    """The event times of the sources, each type once."""
    clocks = {}
    for name in pipeline.spec.sources:
        time = pipeline.spec.event_time_of(name)
        if time is not None:
            kind = _type_in(read_stream(session, pipeline, name).schema, time.column)
            clocks[kind.simpleString()] = {time.column: kind}
    return [*clocks.values()]


def _of_result_clock(pipeline: Pipeline, expressions: dict[str, str]) -> list[Clock]:
    """The windows or event times of the result, of the types that were written last."""
    starts = Ledger(pipeline.layout, generation_of(pipeline)).starts()
    schema = StructType.fromJson(starts[-1].table_schema) if starts else StructType()
    known = {field.name.lower() for field in schema.fields}
    clock: dict[str, DataType] = {}
    for sql in expressions.values():
        for column in columns_named(sql):
            if column.lower() in known:
                clock[column] = _type_in(schema, column)
            else:
                # Nothing was written yet, or under another name.
                ends = [StructField(name, TimestampType()) for name in ("start", "end")]
                clock[column] = StructType(ends) if f"{column}." in sql else TimestampType()
    return [clock]


def _type_in(schema: StructType, column: str) -> DataType:
    return next(f.dataType for f in schema.fields if f.name.lower() == column.lower())
