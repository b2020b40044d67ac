"""A pipeline that reads another one's table: each published row once, and no held one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.pipelines.json_pipeline import SUITE, JsonPipeline
from tests.support.pipelines.recompute_requests import ask, days
from tidemill.contract.report import Outcome

COLUMNS = "id int, shop string, at timestamp"
ORDERS = """
from pyspark.sql import functions as F


def transform(arrivals):
    return arrivals
"""
TEN_MORE = ORDERS.replace("return arrivals", "return arrivals.withColumn('id', F.col('id') + 10)")
DOUBLED = "def transform(orders):\n    return orders.selectExpr('id * 2 AS double', 'on_day')\n"
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


def test_what_was_computed_again_upstream_is_said_and_one_backfill_follows_it(
    orders: JsonPipeline, doubles: JsonPipeline
) -> None:
    orders.arrive("arrivals", "one", [order(1), order(2, day=2)])
    orders.go("1")
    doubles.go("1")
    orders.write(
        ORDERS.replace("return arrivals", "return arrivals.withColumn('id', F.col('id') + 10)")
    )
    assert ask(orders, "backfill", "again", **days(1, 2))["publish"].outcome is Outcome.DONE
    refused = doubles.run("2")["doctor"]
    assert refused.error is not None
    assert refused.error["code"] == "UpstreamSwapped"
    assert "day=2026-03-01" in refused.error["what"]
    doubles.write(sources={"orders": {**SOURCE, "swapped": "warn"}})
    orders.arrive("arrivals", "two", [order(3, day=3)])
    orders.go("3")
    doubles.go("3")
    assert ids(doubles, "double") == [2, 4, 26]
    assert ask(doubles, "backfill", "follow", **days(1, 2))["publish"].outcome is Outcome.DONE
    assert ids(doubles, "double") == [4, 22, 26] == sorted(2 * one for one in ids(orders, "id"))
    orders.write(TEN_MORE.replace("10", "20"))
    assert ask(orders, "backfill", "once more", **days(1, 3))["publish"].outcome is Outcome.DONE
    assert ask(doubles, "backfill", "follow too", **days(1, 2))["publish"].outcome is Outcome.DONE
    assert ids(doubles, "double") == [4, 26, 42]
    assert ask(doubles, "rebuild", "all")["publish"].outcome is Outcome.DONE
    assert ids(doubles, "double") == [26, 42, 44] == sorted(2 * one for one in ids(orders, "id"))
