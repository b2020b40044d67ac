"""On Spark, one scan serves many expectations, and footers serve some without any."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.gx_alone import GxAlone
from tests.support.parquet_sink import expect, sample_of, suite_of
from tidemill.gate.on_spark import OnSpark
from tidemill.gate.sample import Sample
from tidemill.gate.suite import Suite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS: dict[str, Any] = {"key": ["a", "b", "c", None], "quantity": [1, 2, 30, 4]}
PASSING = [
    expect("column_values_to_be_between", column="quantity", min_value=1),
    expect("column_values_to_be_in_set", column="key", value_set=["a", "b", "c"]),
    expect("column_values_to_match_regex", column="key", regex="^[abc]$"),
    expect("column_value_lengths_to_equal", column="key", value=1),
    expect("column_max_to_be_between", column="quantity", max_value=30),
]
FAILING = [
    expect("column_values_to_not_be_null", column="key", mostly=0.5),
    expect("column_values_to_be_between", column="quantity", max_value=9),
    expect("column_values_to_be_unique", column="quantity"),
]


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return sample_of(ROWS, tmp_path)


def results(engine: OnSpark, sample: Sample, suite: Suite) -> list[dict[str, Any]]:
    from tidemill.gate.validation import run

    rows = {"increment": engine.read(sample, sample.files)}
    said = [r.to_json_dict() for r in run(sample, rows, suite, engine, samples=3)]
    return [{name: one[name] for name in ("success", "result", "exception_info")} for one in said]


def jobs(spark: SparkSession, group: str, engine: OnSpark, sample: Sample, suite: Suite) -> int:
    spark.sparkContext.setJobGroup(group, group)
    results(engine, sample, suite)
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))


def test_results_and_samples_are_those_of_great_expectations_alone(
    spark: SparkSession, sample: Sample, tmp_path: Path
) -> None:
    suite = suite_of(tmp_path, *PASSING, *FAILING)
    ours = results(OnSpark(spark), sample, suite)
    assert ours == results(GxAlone(spark), sample, suite)
    failing = [bool(one["result"].get("partial_unexpected_list")) for one in ours]
    assert failing == [False] * len(PASSING) + [True, True, False]


def test_many_expectations_cost_no_more_jobs_than_one(
    spark: SparkSession, sample: Sample, tmp_path: Path
) -> None:
    one = jobs(spark, "one", OnSpark(spark), sample, suite_of(tmp_path, PASSING[1]))
    many = jobs(spark, "many", OnSpark(spark), sample, suite_of(tmp_path, *PASSING))
    assert one == many > 0


def test_few_failing_values_of_several_expectations_cost_one_scan_more(
    spark: SparkSession, sample: Sample, tmp_path: Path
) -> None:
    also = expect("column_values_to_match_regex", column="key", regex="^[ab]$")
    one = jobs(spark, "one failing", OnSpark(spark), sample, suite_of(tmp_path, FAILING[1]))
    two = jobs(spark, "two failing", OnSpark(spark), sample, suite_of(tmp_path, FAILING[1], also))
    assert one == two


def test_what_footers_say_costs_no_job(spark: SparkSession, sample: Sample, tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        expect("table_row_count_to_equal", value=4),
        expect("column_values_to_not_be_null", column="quantity"),
        expect("column_values_to_be_null", column="key", mostly=0.5),
        expect("column_min_to_be_between", column="quantity", min_value=1),
        expect("column_max_to_be_between", column="quantity", max_value=30),
        expect("column_proportion_of_non_null_values_to_be_between", column="key", min_value=0.7),
    )
    engine = OnSpark(spark)
    rows = {"increment": engine.read(sample, sample.files)}
    spark.sparkContext.setJobGroup("footers", "footers")
    from tidemill.gate.validation import run

    said = run(sample, rows, suite, engine, samples=0)
    assert [bool(one.success) for one in said] == [True, True, False, True, True, True]
    assert not spark.sparkContext.statusTracker().getJobIdsForGroup("footers")
