"""Expectations that ask for a column of another type are found without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidemill.steps.read_only.checks.suite_types import problems_of_types

TYPES = {"id": "StringType", "price": "DecimalType", "at": "TimestampType", "tags": "ArrayType"}


def found(folder: Path, kind: str, **kwargs: Any) -> list[int | None]:
    path = folder / "orders.json"
    suite = {"name": "orders", "expectations": [{"type": kind, "kwargs": kwargs}]}
    path.write_text(json.dumps(suite, indent=1))
    return [one.line for one in problems_of_types(path, TYPES)]


@pytest.mark.parametrize(
    ("kind", "kwargs"),
    [
        ("expect_column_sum_to_be_between", {"column": "id", "min_value": 1}),
        ("expect_column_values_to_be_between", {"column": "id", "min_value": 1}),
        ("expect_column_values_to_be_between", {"column": "price", "max_value": "much"}),
        ("expect_column_values_to_be_between", {"column": "at", "max_value": 2026}),
        ("expect_column_values_to_be_in_set", {"column": "price", "value_set": [1, "two"]}),
        ("expect_column_values_to_be_of_type", {"column": "id", "type_": "IntegerType"}),
        ("expect_column_values_to_be_in_type_list", {"column": "id", "type_list": ["LongType"]}),
    ],
)
def test_another_type_is_a_problem_at_its_line(
    tmp_path: Path, kind: str, kwargs: dict[str, Any]
) -> None:
    assert found(tmp_path, kind, **kwargs) == [5]


@pytest.mark.parametrize(
    ("kind", "kwargs"),
    [
        ("expect_column_sum_to_be_between", {"column": "price", "min_value": 1}),
        ("expect_column_values_to_be_between", {"column": "price", "min_value": "1.5"}),
        ("expect_column_values_to_be_between", {"column": "at", "max_value": "2026-03-01 10:00"}),
        ("expect_column_values_to_be_between", {"column": "id", "max_value": "m"}),
        ("expect_column_values_to_be_between", {"column": "id", "max_value": {"$PARAMETER": "x"}}),
        ("expect_column_values_to_not_be_null", {"column": "tags"}),
        ("expect_column_value_lengths_to_be_between", {"column": "id", "max_value": 40}),
        ("expect_column_values_to_be_of_type", {"column": "id", "type_": "StringType"}),
        ("expect_column_values_to_be_of_type", {"column": "id", "type_": "object"}),
    ],
)
def test_the_right_type_is_none(tmp_path: Path, kind: str, kwargs: dict[str, Any]) -> None:
    assert found(tmp_path, kind, **kwargs) == []
