"""A pipeline of sales by day that works row by row: what it is made of, and what it makes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from tests.support.pipelines.json_pipeline import JsonPipeline

DDL = "id string, at timestamp, amount int"
TRANSFORM = """
from pyspark.sql import functions as F


def transform(sales):
    return sales.select("id", (F.col("amount") * {factor}).alias("total"), "day")
"""
SPEC = {
    "event_time": {"column": "at"},
    "row_rules": {"amount_positive": "amount > 0"},
    "output": {"partition_by": {"day": "to_date(at)"}},
    "gate": {"rejected": {"hold_above": 0.9}},
}
# What a wrong amount looks like to the gate.
SUITE = {
    "meta": {"great_expectations_version": "1.24.1"},
    "expectations": [
        {
            "type": "expect_column_values_to_be_between",
            "kwargs": {"column": "total", "max_value": 1000},
            "meta": {},
        }
    ],
}


def sale(name: str, day: int, amount: int) -> dict[str, Any]:
    return {"id": name, "at": f"2026-03-{day:02d}T12:00:00Z", "amount": amount}


def row(name: str, day: int, total: int) -> tuple[Any, ...]:
    return (name, total, datetime(2026, 3, day).date())  # noqa: DTZ001 - a day has no zone


def sales(home: Path, **spec: Any) -> JsonPipeline:
    """Three days in two increments; the second brought rows of the first two days too."""
    found = JsonPipeline(
        home, {"sales": DDL}, {**SPEC, **spec}, TRANSFORM.format(factor=1), suite=SUITE
    )
    found.arrive("sales", "1", [sale("a", 1, 10), sale("b", 1, -1), sale("c", 2, 20)])
    found.go("run-1")
    found.arrive("sales", "2", [sale("d", 2, 30), sale("e", 3, 40), sale("f", 1, 50)])
    found.go("run-2")
    return found
