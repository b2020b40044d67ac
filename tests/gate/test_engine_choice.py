"""The choice of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.parquet_sink import expect, spark_schema, suite_of
from tidemill.gate.engine_choice import choose_engine

COLUMNS = spark_schema(
    {
        "id": "long",
        "quantity": "integer",
        "price": "decimal(10,2)",
        "wide": "decimal(38,18)",
        "name": "string",
        "flag": "boolean",
        "day": "date",
        "at": "timestamp",
    }
)


def chosen(folder: Path, *expectations: dict[str, Any], size: int = 1) -> str:
    return choose_engine(size, 100, suite_of(folder, *expectations), COLUMNS).engine


def test_few_bytes_are_judged_in_process_and_many_on_spark(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, expect("column_values_to_be_unique", column="id"))
    within = choose_engine(100, 100, suite, COLUMNS)
    beyond = choose_engine(101, 100, suite, COLUMNS)
    assert (within.engine, beyond.engine) == ("in_process", "spark")
    assert "101" in beyond.why


def test_one_expectation_without_proof_takes_the_whole_suite_to_spark(tmp_path: Path) -> None:
    proven = expect("column_values_to_be_unique", column="id")
    unproven = expect("column_sum_to_be_between", column="quantity", min_value=1)
    suite = suite_of(tmp_path, proven, unproven)
    choice = choose_engine(1, 100, suite, COLUMNS)
    assert choice.engine == "spark"
    assert "expect_column_sum_to_be_between" in choice.why


BETWEEN = "column_values_to_be_between"
IN_SET = "column_values_to_be_in_set"
MATCH = "column_values_to_match_regex"
PAIR = {"column_A": "quantity", "column_B": "price"}


def condition(column: str, operator: str, parameter: Any) -> dict[str, Any]:
    return {
        "type": "comparison",
        "column": {"name": column},
        "operator": operator,
        "parameter": parameter,
    }


@pytest.mark.parametrize(
    "expectation",
    [
        expect(BETWEEN, column="price", min_value=0.01),
        expect(BETWEEN, column="day", min_value="2026-01-01"),
        expect(BETWEEN, column="at", min_value="2026-01-01"),
        expect(BETWEEN, column="at", min_value="2026-01-01T00:00:00+02:00"),
        expect(IN_SET, column="name", value_set=["mug"]),
        expect(IN_SET, column="flag", value_set=[True]),
        expect(IN_SET, column="price", value_set=[1, 2.5]),
        expect(MATCH, column="name", regex=r"^[A-Z]{2}-\d+$"),
        expect(
            "column_pair_values_a_to_be_greater_than_b",
            **PAIR,
            ignore_row_if="either_value_is_missing",
        ),
        expect(
            BETWEEN, column="quantity", min_value=1, row_condition=condition("flag", "==", True)
        ),
        expect("column_values_to_not_be_null", column="no such column"),
        expect("column_to_exist", column="wide"),
    ],
)
def test_judged_in_process(tmp_path: Path, expectation: dict[str, Any]) -> None:
    assert chosen(tmp_path, expectation) == "in_process"


@pytest.mark.parametrize(
    "expectation",
    [
        # Doubles would make two wide decimals one.
        expect("column_values_to_be_unique", column="wide"),
        # Spark takes '1' for a number, pandas does not.
        expect(IN_SET, column="quantity", value_set=["1", "2"]),
        expect(IN_SET, column="name", value_set=[1, 2]),
        expect(IN_SET, column="day", value_set=["2026-01-01"]),
        expect(IN_SET, column="name", value_set=["mug", None]),
        # A date has no time of day.
        expect(BETWEEN, column="day", min_value="2026-01-01T12:00:00"),
        # Great Expectations makes a double of it.
        expect(BETWEEN, column="id", max_value=2**53 + 1),
        # Java's \b is another one.
        expect(MATCH, column="name", regex=r"\bmug"),
        expect(MATCH, column="quantity", regex=r"^\d$"),
        expect("column_value_lengths_to_equal", column="quantity", value=1),
        # To pandas a pair with a null fails, to Spark it does not count.
        expect("column_pair_values_a_to_be_greater_than_b", **PAIR),
        expect("column_pair_values_to_be_equal", column_A="day", column_B="at"),
        # A null is unequal to everything in pandas, and unknown in SQL.
        expect(
            BETWEEN, column="quantity", min_value=1, row_condition=condition("name", "!=", "mug")
        ),
        expect(
            BETWEEN, column="quantity", min_value=1, row_condition=condition("name", "==", "it's")
        ),
        expect(
            BETWEEN, column="quantity", min_value=1, row_condition=condition("day", ">", "2026")
        ),
        expect(BETWEEN, column="quantity", min_value=1, row_condition='col("id") > 1'),
    ],
)
def test_judged_on_spark_whatever_the_size(tmp_path: Path, expectation: dict[str, Any]) -> None:
    assert chosen(tmp_path, expectation) == "spark"
