"""A pipeline whose files come from a bucket: the table is that of the same files on a disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.flaky_http import FlakyHttp
from tests.servers.s3 import S3
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.recompute_requests import ask, days
from tidemill.contract.connections.airflow import variable
from tidemill.contract.report import Outcome

CONN_ID = "deliveries"
ORDERS = """
def transform(arrivals, zones):
    return arrivals.join(zones, "id", "left")
"""
PLUS_TEN = """
from pyspark.sql import functions as F


def transform(arrivals, zones):
    return arrivals.join(zones, "id", "left").withColumn("id", F.col("id") + 10)
"""


def order(number: int, day: int) -> dict[str, Any]:
    return {"id": number, "at": f"2026-03-{day:02}T00:00:00Z"}


@pytest.fixture
def proxy(s3: S3) -> Iterator[FlakyHttp]:
    with FlakyHttp(s3.endpoint, lambda _: None).up() as up:
        yield up


def test_objects_are_read_once_and_computed_again_after_they_are_gone(
    tmp_path: Path, s3: S3, proxy: FlakyHttp, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable(CONN_ID), s3.connection_at(proxy.endpoint))
    bucket = s3.fresh_bucket()
    spec = {
        "statics": {
            "zones": {
                "kind": "file",
                "format": "json",
                "fetch": {"url": f"s3://{bucket}/zones.json", "conn_id": CONN_ID},
                "schema": "id int, zone string",
            }
        },
        "sources": {
            "arrivals": {
                "fetch": {
                    "url": f"s3://{bucket}/orders",
                    "conn_id": CONN_ID,
                    "clean": {"archive": f"s3://{bucket}/done"},
                }
            }
        },
        "event_time": {"column": "at"},
        "output": {"partition_by": {"day": "to_date(at)"}},
    }
    flow = JsonPipeline(tmp_path, {"arrivals": "id int, at timestamp"}, spec, ORDERS)

    def deliver(name: str, *orders: dict[str, Any]) -> None:
        s3.put(bucket, f"orders/{name}.json", "\n".join(map(json.dumps, orders)).encode())

    def zone(name: str) -> None:
        """Replace the lookup file in place, as its owner does."""
        lines = [json.dumps({"id": number, "zone": name}) for number in range(1, 5)]
        s3.put(bucket, "zones.json", "\n".join(lines).encode())

    zone("old")
    deliver("one", order(1, day=1), order(2, day=2))
    deliver("two", order(3, day=2))
    # The store lists the older object only after the newer one was read.
    proxy.unlisted = {"orders/one.json"}
    flow.go("1")
    assert [number for (number,) in flow.published("id")] == [3]
    proxy.unlisted = set()
    flow.go("1 late")
    assert [number for (number,) in flow.published("id")] == [1, 2, 3]
    assert sorted(s3.objects(bucket)) == ["done/one.json", "done/two.json", "zones.json"]
    assert flow.run("2")["doctor"].outcome is Outcome.SKIPPED
    zone("new")
    deliver("three", order(4, day=3))
    s3.delete(bucket, "done/one.json")
    flow.go("3")
    s3.delete(bucket, "zones.json")
    zones = [(1, "old"), (2, "old"), (3, "old"), (4, "new")]
    assert flow.published("id", "zone") == zones
    flow.write(PLUS_TEN)
    reports = ask(flow, "backfill", "again", **days(1, 3))
    assert {step: one.error for step, one in reports.items()} == dict.fromkeys(reports)
    assert reports["publish"].outcome is Outcome.DONE
    computed = [(11, "old"), (12, "old"), (13, "old"), (4, "new")]
    assert flow.published("id", "zone") == computed
