"""Modes `update` and `complete` from files to a table: it equals the batch query, run for run."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.pipelines.door_events import Actions
from tidemill.contract.report import Outcome, Report

BY_DAY = """
from pyspark.sql import functions as F


def transform(events):
    counts = events.groupBy("action", "day", F.window("time", "1 hour").alias("window")).count()
    return counts.select("action", F.col("window.start").alias("hour"), "count", "day")
"""
TOP = """
from pyspark.sql import functions as F


def transform(events):
    counts = events.groupBy(F.date_trunc("hour", "time").alias("hour")).count()
    return counts.orderBy(F.desc("count"), "hour").limit(2)
"""
ROW_BY_ROW = """
def transform(events):
    return events
"""


@pytest.fixture
def mill(tmp_path: Path, spark: object) -> Actions:
    return Actions(tmp_path)


def data(report: Report) -> dict[str, Any]:
    assert report.error is not None
    found: dict[str, Any] = report.error["data"]
    return found


def rejected(hours: int) -> Counter[tuple[Any, ...]]:
    """The events without an action, one an hour."""
    records = [{"time": f"2026-03-01T{hour:02d}:00:00", "action": None} for hour in range(hours)]
    texts = [json.dumps(record) for record in records]
    return Counter(("rule action_known", text) for text in texts)


def test_mode_update_equals_the_batch_query_after_each_run(mill: Actions) -> None:
    for number, hours in enumerate([(0, 1), (2, 3, 4), (5,)]):
        mill.arrive_hours(*hours)
        assert mill.run(f"run-{number}")["publish"].outcome is Outcome.DONE
        assert mill.counts() == mill.batch_query()
    assert mill.rejected() == rejected(6)


def test_mode_complete_replaces_all_rows(tmp_path: Path, spark: object) -> None:
    mill = Actions(tmp_path, transform=TOP)
    mill.write_spec(mode="complete", keys=["hour"], max_rows=2)
    mill.expect({"type": "expect_column_values_to_be_unique", "kwargs": {"column": "hour"}})
    for number, hours in enumerate([(1, 0), (3,)]):
        mill.arrive_hours(*hours)
        assert mill.run(f"run-{number}")["publish"].outcome is Outcome.DONE
        by_hour: Counter[Any] = Counter()
        for (_, hour, count), times in mill.batch_query().items():
            by_hour[hour] += count * times
        top = sorted(by_hour.items(), key=lambda pair: (-pair[1], pair[0]))[:2]
        assert mill.counts() == Counter(top)
    assert sum(mill.rejected().values()) == 3


def test_partitions_and_a_watermark_with_a_batch_of_its_own(tmp_path: Path, spark: object) -> None:
    mill = Actions(tmp_path, transform=BY_DAY)
    mill.spec["event_time"]["watermark"] = "2 hours"
    del mill.spec["sources"]["events"]["maxFilesPerTrigger"]
    mill.write_spec(partition_by={"day": "to_date(time)"}, keys=["action", "hour", "day"])
    mill.arrive_hours(3, 4, 5)
    # Rejected, it must not make late what is not.
    mill.arrive("future.json", [("2099-01-01T00:00:00", None)])
    assert mill.step("ingest", "first").facts["batches"] == [0, 1]
    # As if it had been killed in the second, which Spark runs because the watermark moved.
    mill.forget_commit(1)
    mill.step("gate", "first")
    mill.step("publish", "first")
    by_day = Counter({row[:3]: times for row, times in mill.counts().items()})
    assert by_day == mill.batch_query()

    assert mill.step("ingest", "second").facts["batches"] == [1]
    assert mill.step("gate", "second").outcome is Outcome.DONE
    assert mill.step("publish", "second").facts["published"][0]["rows"] == 0

    # One hour in time, one too late for the watermark, which stands at three.
    mill.arrive("late.json", [("2026-03-01T04:30:00", "open"), ("2026-03-01T01:30:00", "open")])
    assert mill.run("third")["publish"].outcome is Outcome.DONE
    expected = mill.batch_query()
    late = next(row for row in expected if row[1].hour == 1)
    del expected[late]
    assert Counter({row[:3]: times for row, times in mill.counts().items()}) == expected


def test_a_batch_that_lacks_its_commit_alone_is_committed_and_not_written_again(
    mill: Actions,
) -> None:
    mill.arrive_hours(0, 1)
    mill.step("ingest", "killed")
    written = [mill.attempts(batch) for batch in (0, 1)]
    mill.forget_commit(1)
    mill.arrive_hours(2)

    assert mill.run("after")["publish"].outcome is Outcome.DONE
    assert [mill.attempts(batch) for batch in (0, 1)] == written
    assert mill.counts() == mill.batch_query()
    assert mill.rejected() == rejected(3)


def test_rows_that_share_a_key_stop_the_query_for_good(tmp_path: Path, spark: object) -> None:
    mill = Actions(tmp_path, transform=ROW_BY_ROW)
    mill.write_spec(keys=["action"])
    mill.arrive_hours(1)

    report = mill.run("run")["ingest"]

    assert report.error is not None
    assert (report.error["code"], report.error["transient"]) == ("KeyTwice", False)
    assert data(report)["example"] == {"action": "open"}
    assert mill.step("doctor", "next").outcome is Outcome.DONE
