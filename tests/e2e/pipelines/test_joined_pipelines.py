"""The shipped pipelines `click_revenue` and `customer_hours`, against plain Python."""

from __future__ import annotations

import csv
import json
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from tests.support.pipelines.shipped_pipeline import Shipped
from tidemill.samples import click_revenue, customer_hours

HOUR = timedelta(hours=1)


def table(path: Path, key: str) -> dict[str, dict[str, str]]:
    with path.open() as text:
        return {row[key]: row for row in csv.DictReader(text)}


def test_clicks_are_paid_at_the_prices_of_their_run(tmp_path: Path, spark: object) -> None:
    agency = Shipped("click_revenue", tmp_path)
    prices, expected = [], []
    revenue, unknown = 0.0, 0
    for number in (1, 2):
        clicks, file = click_revenue.write_file(agency.input / "click_revenue", number)
        prices.append(table(file, "ad"))
        for click in map(json.loads, clicks.read_text().splitlines()):
            shown = prices[-1].get(click["ad"])
            price = Decimal(shown["price"]) if shown else None
            expected.append((click["click"], shown and shown["campaign"], price))
        report = agency.run()["ingest"]
        for metrics in report.facts["observed"].values():
            revenue += metrics["revenue"]
            unknown += metrics["unknown_ads"]
    assert agency.published("click", "campaign", "price") == sorted(expected, key=repr)
    paid = [price for _, _, price in expected if price is not None]
    assert revenue == pytest.approx(float(sum(paid)))
    assert unknown == len(expected) - len(paid) > 0
    assert prices[0]["A00"] != prices[1]["A00"]


def test_actions_are_counted_by_customer_and_hour(tmp_path: Path, spark: object) -> None:
    shop = Shipped("customer_hours", tmp_path)
    customers = []
    for files in ((1, 2), (3, 4)):
        for number in files:
            _, file = customer_hours.write_file(shop.input / "customer_hours", number)
        customers.append(table(file, "customer_id"))
        shop.run()
    expected: Counter[tuple[datetime, str, str]] = Counter()
    late = unknown = 0
    tables = iter(customers)
    known: dict[str, dict[str, str]] = {}
    for batch in shop.taken(actions=HOUR):
        # One batch of each run reads; the other closes what the first one has moved.
        known = next(tables) if batch.rows["actions"] else known
        for action in batch.rows["actions"]:
            hour = action["at"].replace(minute=0, second=0)
            customer = known.get(action["customer_id"])
            late += hour + HOUR <= batch.late
            unknown += customer is None
            if customer and hour + HOUR > batch.late:
                expected[hour, action["customer_id"], customer["name"]] += 1
    closed = {key: count for key, count in expected.items() if key[0] + HOUR <= batch.closed}
    found = shop.published("hour", "customer_id", "name", "actions")
    assert found == sorted(((*key, count) for key, count in closed.items()), key=repr)
    assert late > 0
    assert unknown > 0
    assert 0 < len(closed) < len(expected)
