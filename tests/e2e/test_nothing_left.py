"""Increments of which the transform leaves no row go out empty, and what comes after them too."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.recompute_requests import ask
from tidemill.contract.report import Outcome

COLUMNS = "name string, n int"
POSITIVE = "def transform(rows):\n    return rows.where('n > 0')\n"
COUNTS = (
    "def transform(rows):\n"
    "    return rows.where('n > 0').dropDuplicates().groupBy('name').count()\n"
)
UPDATE = {"output": {"mode": "update", "keys": ["name"]}}


@pytest.mark.parametrize(
    ("transform", "spec", "expected"),
    [
        (POSITIVE, {}, [("a", 1), ("b", 2)]),
        (COUNTS, UPDATE, [("a", 1), ("b", 1)]),
        (COUNTS, {"output": {"mode": "complete"}}, [("a", 1), ("b", 1)]),
    ],
    ids=["append", "update", "complete"],
)
def test_an_increment_without_rows_blocks_nobody(
    tmp_path: Path,
    spark: SparkSession,
    transform: str,
    spec: dict[str, object],
    expected: list[tuple[str, int]],
) -> None:
    flow = JsonPipeline(tmp_path, {"rows": COLUMNS}, spec, transform)
    flow.arrive("rows", "1", [{"name": "a", "n": 1}])
    flow.go("first")
    # A duplicate of what was counted, and a row that the filter drops.
    flow.arrive("rows", "2", [{"name": "a", "n": -1}])
    flow.go("second")
    flow.arrive("rows", "3", [{"name": "b", "n": 2}])
    flow.go("third")
    assert flow.published() == expected
    assert flow.run("idle")["doctor"].outcome is Outcome.SKIPPED


def test_an_empty_delivery_is_held_unless_the_spec_lets_it_pass(
    tmp_path: Path, spark: SparkSession
) -> None:
    flow = JsonPipeline(tmp_path, {"rows": COLUMNS}, {}, POSITIVE)
    flow.arrive("rows", "1", [])
    reports = flow.run("held")
    assert reports["gate"].outcome is Outcome.HELD
    flow.write(gate={"empty": "pass"})
    assert flow.run("held")["publish"].outcome is Outcome.DONE


def test_a_rebuild_is_not_judged_by_the_row_count_of_one_increment(
    tmp_path: Path, spark: SparkSession
) -> None:
    one_row = {
        "meta": {"great_expectations_version": "1.24.1"},
        "expectations": [
            {"type": "expect_table_row_count_to_equal", "kwargs": {"value": 1}, "meta": {}}
        ],
    }
    flow = JsonPipeline(tmp_path, {"rows": COLUMNS}, {}, POSITIVE, suite=one_row)
    for number in (1, 2):
        flow.arrive("rows", str(number), [{"name": "a", "n": number}])
        flow.go(f"run-{number}")
    assert ask(flow, "rebuild", "again")["publish"].outcome is Outcome.DONE
    assert flow.published() == [("a", 1), ("a", 2)]
