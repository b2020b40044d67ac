"""A pipeline that reads another one's table: each published row once, and no held one."""

from __future__ import annotations

import shlex
from copy import copy
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.pages import BLOCKS
from tests.support.pipelines.json_pipeline import SUITE, JsonPipeline
from tests.support.pipelines.recompute_requests import ask, days
from tidemill.cli.app import app
from tidemill.contract.report import Outcome
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import read_takeovers
from tidemill.sources.probe import due_of
from tidemill.spark_logs.offset_ranges import as_offsets
from tidemill.steps.decisions.follow import due_now
from tidemill.steps.decisions.release import release

COLUMNS = "id int, shop string, at timestamp"
ORDERS = """
from pyspark.sql import functions as F


def transform(arrivals):
    return arrivals
"""
TEN_MORE = ORDERS.replace("return arrivals", "return arrivals.withColumn('id', F.col('id') + 10)")
DOUBLED = "def transform(orders):\n    return orders.selectExpr('id * 2 AS double', 'on_day')\n"
SUMS = """
from pyspark.sql import functions as F


def transform(orders):
    windows = orders.groupBy(F.window("at", "6 hours"))
    return windows.agg(F.sum("id").cast("int").alias("total"))
"""
ONCE = "def transform(orders):\n    return orders.dropDuplicatesWithinWatermark(['id'])\n"
BY_DAY = {"partition_by": {"day": "to_date(at)"}}
SOURCE = {
    "kind": "table",
    "pipeline": "orders",
    "schema": "id int, day date, at timestamp",
}
# More than a hundred is bad data.
SMALL: dict[str, Any] = {
    **SUITE,
    "expectations": [
        {
            "type": "expect_column_values_to_be_between",
            "kwargs": {"column": "id", "max_value": 100},
            "meta": {"severity": "critical"},
        }
    ],
}


def order(number: int, day: int = 1) -> dict[str, Any]:
    return {"id": number, "shop": "a", "at": f"2026-03-{day:02}T00:00:00Z"}


def ids(flow: JsonPipeline, column: str) -> list[int]:
    return sorted(number for (number,) in flow.published(column))


@pytest.fixture
def orders(tmp_path: Path, spark: object) -> JsonPipeline:
    spec = {"event_time": {"column": "at"}, "output": BY_DAY}
    return JsonPipeline(tmp_path, {"arrivals": COLUMNS}, spec, ORDERS, SMALL, name="orders")


@pytest.fixture
def doubles(orders: JsonPipeline) -> JsonPipeline:
    spec = {
        "sources": {"orders": SOURCE},
        "event_time": {"column": "at"},
        "output": {"partition_by": {"on_day": "to_date(at)"}},
    }
    return JsonPipeline(orders.home, {}, spec, DOUBLED, name="doubles")


def test_each_published_row_comes_once_and_no_held_row(
    orders: JsonPipeline, doubles: JsonPipeline
) -> None:
    assert doubles.run("before")["doctor"].outcome is Outcome.SKIPPED
    orders.arrive("arrivals", "one", [order(1), order(2, day=2)])
    orders.arrive("arrivals", "two", [order(3)])
    orders.go("1")
    doubles.go("1")
    assert ids(doubles, "double") == [2, 4, 6]
    orders.arrive("arrivals", "bad", [order(101)])
    orders.run("2")
    assert doubles.run("2")["doctor"].outcome is Outcome.SKIPPED
    orders.arrive("arrivals", "four", [order(4)])
    orders.run("3")
    assert doubles.run("3")["doctor"].outcome is Outcome.SKIPPED


def test_a_long_history_is_read_in_several_batches_with_the_same_rows(
    orders: JsonPipeline, doubles: JsonPipeline
) -> None:
    for number in (1, 2, 3):
        orders.arrive("arrivals", str(number), [order(number), order(number + 10, day=2)])
        orders.go(str(number))
    limited = JsonPipeline(orders.home, {}, doubles.spec, DOUBLED, name="limited")
    # Each increment has two files, of two days.
    limited.write(sources={"orders": {**SOURCE, "maxFilesPerTrigger": 1}})
    doubles.go("1")
    limited.go("1")
    assert len(doubles.batches) == 1
    assert ends(limited) == [1, 2, 3]
    assert ids(limited, "double") == ids(doubles, "double") == [2, 4, 6, 22, 24, 26]
    assert ask(limited, "backfill", "again", **days(1, 3))["publish"].outcome is Outcome.DONE
    assert limited.published() == doubles.published()
    orders.arrive("arrivals", "4", [order(4)])
    orders.go("4")
    limited.go("2")
    assert ends(limited) == [1, 2, 3, 4]


def test_a_fork_on_either_side_of_a_link_goes_on_from_there(
    orders: JsonPipeline, doubles: JsonPipeline
) -> None:
    orders.arrive("arrivals", "1", [order(1)])
    orders.go("1")
    doubles.go("1")
    # It reads the fork's table, and after that of the original nothing.
    further = JsonPipeline(
        orders.home,
        {},
        {**doubles.spec, "sources": {"orders": {**SOURCE, "pipeline": "orders_trial"}}},
        DOUBLED,
        name="further",
    )
    typed(orders, "checkpoint fork orders --as orders_trial --reason trial --apply")
    typed(orders, "checkpoint fork doubles --as doubles_trial --reason trial --apply")
    orders.arrive("arrivals", "2", [order(2)])
    for name in ("orders", "orders_trial", "doubles", "doubles_trial", "further"):
        flow = copy(orders)
        flow.name = name
        flow.go("2")
    trial = copy(doubles)
    trial.name = "doubles_trial"
    assert ids(doubles, "double") == [2, 4]
    assert ids(trial, "double") == ids(further, "double") == [4]


def typed(flow: JsonPipeline, line: str) -> None:
    """A command, which ends well."""
    words = shlex.split(line, comments=True)
    answer = CliRunner().invoke(app, words, env=flow.environ, catch_exceptions=False)
    assert answer.exit_code == 0, answer.output


def refused_for_swap(flow: JsonPipeline, run_id: str) -> dict[str, Any]:
    """The error of a run that takes in nothing, as the table that it reads was computed again."""
    error = flow.run(run_id)["doctor"].error
    assert error is not None
    assert error["code"] == "UpstreamSwapped"
    return error


def ends(flow: JsonPipeline) -> list[int]:
    """The version of the table that each batch ends before."""
    offsets = (as_offsets(batch.offsets["orders"]) for batch in flow.batches)
    return [until for one in offsets for partition in one.values() for until in partition.values()]


def test_what_was_computed_again_upstream_is_due_until_it_is_computed_here(
    orders: JsonPipeline, doubles: JsonPipeline
) -> None:
    # Both go on in a new generation after each publish.
    for flow in (orders, doubles):
        flow.write(rollover={"after_batches": 1})
    orders.arrive("arrivals", "one", [order(1), order(2, day=2)])
    orders.go("1")
    doubles.go("1")
    orders.write(TEN_MORE)
    assert ask(orders, "backfill", "again", **days(1, 2))["publish"].outcome is Outcome.DONE
    refused = refused_for_swap(doubles, "2")
    assert refused["data"]["due"]["partitions"]["values"] == [["2026-03-01"]]
    doubles.write(sources={"orders": {**SOURCE, "swapped": "warn"}})
    orders.arrive("arrivals", "two", [order(3, day=3)])
    orders.go("3")
    doubles.go("3")
    assert ids(doubles, "double") == [2, 4, 26]
    for line in BLOCKS["chain-follow"].splitlines():
        typed(doubles, line.removeprefix("tidemill").replace("report", "doubles"))
    assert due_now(doubles.pipeline) == ([], None)
    assert ids(doubles, "double") == [4, 22, 26] == sorted(2 * one for one in ids(orders, "id"))
    orders.write(TEN_MORE.replace("10", "20"))
    assert ask(orders, "backfill", "once more", **days(1, 3))["publish"].outcome is Outcome.DONE
    assert ask(doubles, "backfill", "a day of two", **days(1, 2))["publish"].outcome is Outcome.DONE
    assert ids(doubles, "double") == [4, 26, 42]
    doubles.write(sources={"orders": {**SOURCE, "swapped": "follow"}})
    assert doubles.run("4")["publish"].outcome is Outcome.DONE
    assert ids(doubles, "double") == [26, 42, 44] == sorted(2 * one for one in ids(orders, "id"))
    assert doubles.run("5")["doctor"].outcome is Outcome.SKIPPED
    for flow in (orders, doubles):
        assert {one.kind for one in read_takeovers(flow.layout.home)} == {"rollover"}


def test_windows_follow_once_they_are_closed(orders: JsonPipeline) -> None:
    hours = JsonPipeline(
        orders.home,
        {},
        {
            "sources": {"orders": {**SOURCE, "swapped": "follow"}},
            "event_time": {"column": "at", "watermark": "1 hour"},
            "output": {"partition_by": {"on_day": "to_date(window.start)"}},
        },
        SUMS,
        name="hours",
    )
    orders.arrive("arrivals", "one", [order(1), order(2, day=2)])
    orders.go("1")
    hours.go("1")
    orders.arrive("arrivals", "two", [order(3, day=3)])
    orders.go("2")
    hours.go("2")
    assert ids(hours, "total") == [1, 2]
    orders.write(TEN_MORE)
    assert ask(orders, "backfill", "again", **days(1, 4))["publish"].outcome is Outcome.DONE
    (due,) = due_of(hours.pipeline, Snapshot(hours.layout))
    assert due.partitions is not None
    assert due.waiting is not None
    assert due.partitions.values == (("2026-03-01",),)
    assert hours.run("3")["publish"].outcome is Outcome.DONE
    assert ids(hours, "total") == [2, 11]
    assert hours.run("4")["doctor"].outcome is Outcome.SKIPPED
    for day in (5, 6):
        orders.arrive("arrivals", f"day {day}", [order(day, day=day)])
        orders.go(f"day {day}")
        hours.go(f"day {day}")
    for number in range(3):
        hours.go(f"rest {number}")
    assert ids(hours, "total") == [11, 12, 13, 15]
    assert due_of(hours.pipeline, Snapshot(hours.layout)) == []


@pytest.fixture
def once(orders: JsonPipeline) -> JsonPipeline:
    spec = {
        "sources": {"orders": {**SOURCE, "swapped": "follow"}},
        "event_time": {"column": "at", "watermark": "1 hour"},
    }
    return JsonPipeline(orders.home, {}, spec, ONCE, name="once")


def test_what_no_backfill_can_follow_a_rebuild_can(
    orders: JsonPipeline, once: JsonPipeline
) -> None:
    orders.arrive("arrivals", "one", [order(1), order(1), order(2)])
    orders.go("1")
    once.go("1")
    orders.write(TEN_MORE)
    assert ask(orders, "backfill", "again", **days(1, 2))["publish"].outcome is Outcome.DONE
    assert "tidemill rebuild once" in refused_for_swap(once, "2")["remedy"]
    assert ask(once, "rebuild", "rebuild")["publish"].outcome is Outcome.DONE
    assert ids(once, "id") == [11, 12]
    assert once.run("3")["doctor"].outcome is Outcome.SKIPPED


def test_a_rebuild_follows_a_table_of_which_nothing_is_left_once_a_person_says_so(
    orders: JsonPipeline, once: JsonPipeline
) -> None:
    orders.arrive("arrivals", "one", [order(1)])
    orders.go("1")
    once.go("1")
    orders.write(ORDERS.replace("return arrivals", "return arrivals.where('id > 1')"))
    for flow in (orders, once):
        assert ask(flow, "rebuild", "rebuild")["gate"].outcome is Outcome.HELD
        number = Snapshot(flow.layout).increments[-1].number
        release(flow.pipeline, number, by="ada", reason="none is wanted", run_id="release")
        assert flow.step("publish", "release").outcome is Outcome.DONE
        assert ids(flow, "id") == []
    orders.arrive("arrivals", "two", [order(2)])
    orders.go("2")
    once.go("2")
    assert ids(once, "id") == [2]
