"""Which whole partitions an interval touches, by value, and which times these cover."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.toolchain.spark_conf import engine_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidemill.engine.recompute.intervals import Extent

LONDON = ZoneInfo("Europe/London")


def asked(
    home: Path, spark: SparkSession, start: datetime, end: datetime, kind: str, **partitions: str
) -> Extent:
    from tidemill.engine.recompute.intervals import extent_of

    spec: dict[str, Any] = {
        "timezone": "Europe/London",
        "event_time": {"column": "at"},
        "output": {"partition_by": partitions},
    }
    flow = JsonPipeline(home, {"events": f"country string, at {kind}"}, spec, "")
    for name, value in engine_conf(flow.pipeline.spec).items():
        if spark.conf.isModifiable(name):
            spark.conf.set(name, value)
    return extent_of(spark, flow.pipeline, start, end)


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=LONDON)  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("start", "end", "hours"),
    [
        (at(2026, 3, 29), at(2026, 3, 30), 23),
        (at(2026, 10, 25), at(2026, 10, 26), 25),
        # An hour of a day is the day.
        (at(2026, 7, 1, 10), at(2026, 7, 1, 11), 24),
        # A day of UTC touches two days of London's summer.
        (datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 7, 2, tzinfo=UTC), 48),
    ],
)
def test_a_day_is_as_long_as_it_is_where_the_spec_says(
    tmp_path: Path, spark: SparkSession, start: datetime, end: datetime, hours: int
) -> None:
    found = asked(tmp_path, spark, start, end, "timestamp", land="country", day="to_date(at)")
    days = ["2026-07-01", "2026-07-02"] if hours == 48 else [f"{start:%Y-%m-%d}"]
    assert found.partitions.columns == ("day",)
    assert found.partitions.values == tuple((day,) for day in days)
    assert found.start is not None
    assert found.start == datetime.fromisoformat(days[0]).replace(tzinfo=LONDON)
    assert found.end == found.start + timedelta(hours=hours)


def test_hours_months_and_weekdays(tmp_path: Path, spark: SparkSession) -> None:
    night = (at(2026, 10, 25), at(2026, 10, 25, 3))
    hours = asked(tmp_path, spark, *night, "timestamp", hour="date_format(at, 'yyyy-MM-dd HH')")
    # The hour from one to two comes twice in that night.
    assert [value for (value,) in hours.partitions.values] == [
        f"2026-10-25 0{hour}" for hour in range(3)
    ]
    assert (hours.start, hours.end) == night
    month = asked(tmp_path, spark, *night, "date", y="year(at)", m="month(at)")
    assert month.partitions.values == (("2026", "10"),)
    assert (month.start, month.end) == (at(2026, 10, 1), at(2026, 11, 1))
    sundays = asked(tmp_path, spark, *night, "timestamp", w="dayofweek(at)")
    assert sundays.partitions.values == (("1",),)
    assert (sundays.start, sundays.end) == (None, None)


def test_the_clock_on_the_wall(tmp_path: Path, spark: SparkSession) -> None:
    day = asked(tmp_path, spark, at(2026, 3, 29), at(2026, 3, 30), "timestamp_ntz", d="to_date(at)")
    assert day.partitions.values == (("2026-03-29",),)
    assert (day.start, day.end) == (at(2026, 3, 29), at(2026, 3, 30))
    assert day.wall == (datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 3, 30, tzinfo=UTC))


def test_windows_of_the_result_are_times(tmp_path: Path, spark: SparkSession) -> None:
    day = (at(2026, 7, 1), at(2026, 7, 2))
    found = asked(tmp_path, spark, *day, "timestamp", d="to_date(window.start)")
    assert found.partitions.values == (("2026-07-01",),)
    assert (found.start, found.end, found.of_windows) == (*day, True)


def test_without_a_time_the_interval_is_the_whole_table(
    tmp_path: Path, spark: SparkSession
) -> None:
    day = (at(2026, 7, 1), at(2026, 7, 2))
    found = asked(tmp_path, spark, *day, "timestamp", land="country")
    assert found.partitions.everything
    assert (found.start, found.end) == (None, None)


@pytest.mark.parametrize(
    ("kind", "sql"),
    [("timestamp", "date_format(at, 'yyyy-MM-dd HH:mm:ss')"), ("string", "to_date(at)")],
)
def test_partitions_that_no_interval_can_be_cut_by_are_refused(
    tmp_path: Path, spark: SparkSession, kind: str, sql: str
) -> None:
    from tidemill.engine.recompute.intervals import IntervalUncut

    with pytest.raises(IntervalUncut):
        asked(tmp_path, spark, at(2026, 7, 1), at(2026, 7, 2), kind, d=sql)
