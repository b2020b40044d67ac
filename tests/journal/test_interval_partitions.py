"""Partitions of an interval that are told without Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import TimestampType

from tests.support.spec_text import parse
from tidemill.engine.recompute.instants import partitions_between
from tidemill.journal.interval_partitions import interval_partitions
from tidemill.spec.spec import Spec

SPEC = """\
sources:
  orders: {{kind: file, format: csv, path: /in, schema: "id long, at timestamp, shop string"}}
event_time: {{column: at{watermark}}}
timezone: Europe/London
output: {{partition_by: {partitions}}}
"""
DAY = (datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))


def spec(partitions: str, watermark: str = "") -> Spec:
    return parse(SPEC.format(partitions=partitions, watermark=watermark))


@pytest.mark.parametrize(
    ("partitions", "values"),
    [
        ("{day: to_date(at)}", {("2026-03-01",)}),
        ("{year: year(at), month: month(at)}", {("2026", "3")}),
        ("{month: \"date_format(at, 'yyyy-MM')\"}", {("2026-03",)}),
        ("{day: to_date(at), store: shop}", {("2026-03-01",)}),
    ],
)
def test_plain_calls_of_the_event_time_are_told(partitions: str, values: set[Any]) -> None:
    found = interval_partitions(spec(partitions), *DAY)
    assert found is not None
    assert {*found.values} == values


@pytest.mark.parametrize(
    "partitions",
    [
        "{day: \"date_trunc('week', at)\"}",
        "{day: \"date_format(at, 'EEE')\"}",
        '{day: to_date(at), store: "concat(shop, to_date(at))"}',
        "{store: shop}",
    ],
)
def test_any_other_expression_is_left_to_spark(partitions: str) -> None:
    assert interval_partitions(spec(partitions), *DAY) is None


def test_two_quarters_of_an_hour_around_midnight_are_two_days() -> None:
    around = (datetime(2026, 2, 28, 23, 45, tzinfo=UTC), datetime(2026, 3, 1, 0, 15, tzinfo=UTC))
    found = interval_partitions(spec("{day: to_date(at)}"), *around)
    assert found is not None
    assert found.values == (("2026-02-28",), ("2026-03-01",))


CALLS = {
    "day": "to_date(at)",
    "y": "year(at)",
    "m": "month(at)",
    "h": "hour(at)",
    "t": "date_format(at, 'yyyy/MM-dd HH')",
}


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("start", "end"),
    [
        (datetime(2026, 6, 30, 22, 30, tzinfo=UTC), datetime(2026, 7, 1, 2, tzinfo=UTC)),
        (datetime(2026, 10, 25, 0, 10, tzinfo=UTC), datetime(2026, 10, 25, 2, 20, tzinfo=UTC)),
        (datetime(2026, 3, 29, 0, 50, tzinfo=UTC), datetime(2026, 3, 29, 1, 50, tzinfo=UTC)),
    ],
)
def test_none_that_spark_finds_is_left_out(
    spark: SparkSession, start: datetime, end: datetime
) -> None:
    written = "{" + ", ".join(f'{name}: "{sql}"' for name, sql in CALLS.items()) + "}"
    found = interval_partitions(spec(written), start, end)
    zone = ZoneInfo("Europe/London")
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", str(zone))
    try:
        spark_found = partitions_between(spark, CALLS, {"at": TimestampType()}, zone, start, end)
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))
    assert found is not None
    assert spark_found.values <= {*found.values}
    if start.month != 3:
        assert spark_found.values == {*found.values}
