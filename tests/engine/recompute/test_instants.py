"""Which time a column holds: an instant, or what the clock on the wall shows."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql.types import (
    DataType,
    DateType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from tidemill.engine.recompute.instants import IntervalUncut, has_no_zone, on_the_wall

LONDON = ZoneInfo("Europe/London")


def window(kind: DataType) -> StructType:
    return StructType([StructField("start", kind), StructField("end", kind)])


@pytest.mark.parametrize(
    ("kind", "zoneless"),
    [
        (TimestampType(), False),
        (DateType(), False),
        (TimestampNTZType(), True),
        (window(TimestampType()), False),
        (window(TimestampNTZType()), True),
    ],
    ids=lambda one: one.simpleString() if isinstance(one, DataType) else None,
)
def test_only_a_timestamp_without_a_zone_is_the_clock_on_the_wall(
    kind: DataType, zoneless: bool
) -> None:
    assert has_no_zone({"at": kind}) is zoneless


def test_one_column_without_a_zone_is_enough() -> None:
    assert has_no_zone({"at": TimestampType(), "local": TimestampNTZType()})


@pytest.mark.parametrize("kind", [StringType(), window(StringType())])
def test_what_is_no_time_is_refused_by_the_name_of_its_column(kind: DataType) -> None:
    with pytest.raises(IntervalUncut) as caught:
        has_no_zone({"at": TimestampType(), "word": kind})
    assert caught.value.data["column"] == "word"


def test_an_hour_that_comes_twice_is_one_on_the_wall() -> None:
    instants = [datetime(2026, 10, 25, hour, 30, tzinfo=UTC) for hour in range(3)]
    shown = [on_the_wall(at, LONDON) for at in instants]
    assert [(at.hour, at.fold) for at in shown] == [(1, 0), (1, 0), (2, 0)]


def test_the_hour_that_spring_skips_is_on_no_wall() -> None:
    instants = [datetime(2026, 3, 29, hour, tzinfo=UTC) for hour in range(3)]
    assert [on_the_wall(at, LONDON).hour for at in instants] == [0, 2, 3]
