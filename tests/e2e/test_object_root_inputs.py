"""Inputs that a pipeline reads from its root, or copies there, on a root in an object store."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.e2e.test_chains import BY_DAY, COLUMNS, DOUBLED, ORDERS, SMALL, SOURCE, TEN_MORE, ids
from tests.e2e.test_chains import order as arrival
from tests.e2e.test_statics import click, flow_of, price
from tests.servers.s3 import S3
from tests.support.bucket_pipeline import in_bucket
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.recompute_requests import ask, days
from tidemill.contract.report import Outcome
from tidemill.steps.decisions.follow import due_now

ORDERED = """
def transform(clicks, ads, orders):
    from pyspark.sql import functions as F

    joined = clicks.join(ads, "ad", "left").crossJoin(orders.agg(F.count("*").alias("orders")))
    return joined.select("click", "price", F.col("orders").cast("int").alias("orders"))
"""
POISON = """

fixed = transform


def transform(clicks, ads, orders):
    from pyspark.sql import functions as F

    poison = F.when(F.col("click") == 2, F.raise_error(F.lit("poison")))
    return fixed(clicks.where(poison.isNull()), ads, orders)
"""


@pytest.fixture
def orders(
    tmp_path: Path, s3: S3, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> JsonPipeline:
    """A pipeline whose table others read."""
    spec = {"event_time": {"column": "at"}, "output": BY_DAY}
    flow = JsonPipeline(tmp_path, {"arrivals": COLUMNS}, spec, ORDERS, SMALL, name="orders")
    return in_bucket(flow, s3, spark, monkeypatch)


def test_a_chain_reads_what_is_published_and_follows_what_is_computed_again(
    orders: JsonPipeline,
) -> None:
    spec = {
        "sources": {"orders": {**SOURCE, "swapped": "follow"}},
        "event_time": {"column": "at"},
        "output": {"partition_by": {"on_day": "to_date(at)"}},
    }
    doubles = JsonPipeline(orders.home, {}, spec, DOUBLED, name="doubles")
    doubles.url = orders.url
    orders.arrive("arrivals", "one", [arrival(1), arrival(2, day=2)])
    orders.go("1")
    doubles.go("1")
    assert ids(doubles, "double") == [2, 4]
    orders.arrive("arrivals", "bad", [arrival(101, day=3)])
    orders.run("2")
    assert doubles.run("2")["doctor"].outcome is Outcome.SKIPPED
    orders.write(TEN_MORE)
    assert ask(orders, "backfill", "again", **days(1, 2))["publish"].outcome is Outcome.DONE
    assert due_now(doubles.pipeline)[1] is not None
    doubles.go("3")
    assert due_now(doubles.pipeline) == ([], None)
    assert ids(doubles, "double") == [4, 22] == sorted(2 * one for one in ids(orders, "id"))


def test_a_batch_reads_the_static_sides_that_it_was_planned_with(
    orders: JsonPipeline, tmp_path: Path
) -> None:
    orders.arrive("arrivals", "one", [arrival(1)])
    orders.go("1")
    home = tmp_path / "clicks"
    home.mkdir()
    table = {"kind": "table", "pipeline": "orders"}
    flow = flow_of(home, ORDERED)
    flow.url = orders.url
    flow.write(statics={**flow.spec["statics"], "orders": table})
    price(home, "tide", 10)
    flow.arrive("clicks", "a", [click(1)])
    flow.go("first")
    price(home, "tide", 20)
    orders.arrive("arrivals", "two", [arrival(2)])
    orders.go("2")
    flow.arrive("clicks", "b", [click(2)])
    flow.write(ORDERED + POISON)
    assert flow.run("second")["ingest"].outcome is Outcome.FAILED
    # What the batch was planned with is read, whatever has come since.
    price(home, "tide", 30)
    orders.arrive("arrivals", "three", [arrival(3)])
    orders.go("3")
    flow.arrive("clicks", "c", [click(3)])
    flow.write(ORDERED)
    flow.go("third")
    sides = flow.published("click", "price", "orders")
    assert sides == [(1, 10, 1), (2, 20, 2), (3, 30, 3)]
    assert len([*(flow.layout.statics / "ads").iterdir()]) == 3
    assert not (home / "root" / flow.name).exists()
