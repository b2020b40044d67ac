"""Bounds of dates and times, said for each engine."""

from __future__ import annotations

import pytest

from tidemill.gate.columns import Column
from tidemill.gate.time_bounds import is_bound_of, on_pandas, on_spark

DAY = Column("day", "date", "date")
AT = Column("at", "timestamp", "timestamp")
BETWEEN, MAX = "expect_column_values_to_be_between", "expect_column_max_to_be_between"


@pytest.mark.parametrize(
    ("bound", "for_pandas", "for_spark"),
    [
        ("2026-07-01", "2026-07-01T00:00:00", "2026-07-01T00:00:00+01:00"),
        ("2026-07-01T12:00:00", "2026-07-01T12:00:00", "2026-07-01T12:00:00+01:00"),
        ("2026-07-01T12:00:00Z", "2026-07-01T13:00:00", "2026-07-01T12:00:00+00:00"),
    ],
)
def test_a_bound_of_a_timestamp(bound: str, for_pandas: str, for_spark: str) -> None:
    kwargs = {"min_value": bound, "mostly": 0.5}
    assert on_pandas(kwargs, AT, "Europe/London") == {"min_value": for_pandas, "mostly": 0.5}
    assert on_spark(BETWEEN, kwargs, AT, "Europe/London")["min_value"] == for_spark
    # Python compares these with the wall clock that Spark's answer shows.
    assert on_spark(MAX, kwargs, AT, "Europe/London")["min_value"] == for_pandas


def test_a_bound_of_a_date() -> None:
    kwargs = {"max_value": "2026-07-01T00:00:00"}
    assert on_spark(BETWEEN, kwargs, DAY, "UTC") == {"max_value": "2026-07-01"}
    assert on_pandas(kwargs, DAY, "UTC") == {"max_value": "2026-07-01T00:00:00"}


@pytest.mark.parametrize(
    ("column", "bound", "fits"),
    [
        (DAY, "2026-07-01", True),
        (DAY, "2026-07-01T12:00:00", False),
        (DAY, 20260701, False),
        (AT, "yesterday", False),
        (AT, {"$PARAMETER": "from"}, False),
    ],
)
def test_what_can_be_a_bound(column: Column, bound: object, fits: bool) -> None:
    assert is_bound_of(column, bound) is fits
    if not fits:
        assert on_pandas({"min_value": bound}, column, "UTC") == {"min_value": bound}
