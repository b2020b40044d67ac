"""Judging with the engine that needs no JVM; `test_equivalence.py` holds Spark to the same."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Collection
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.support.parquet_sink import expect, sample_of, spark_schema, suite_of, write_file
from tidemill.gate.in_process import InProcess
from tidemill.gate.judge import judge
from tidemill.gate.sample import Sample
from tidemill.gate.suite import Suite, SuiteError
from tidemill.increments.judgement import CheckBroke, Judgement
from tidemill.increments.mask import MaskUnknown

CANARY = "canary-4711"


@pytest.fixture
def judged(tmp_path: Path) -> Callable[..., Judgement]:
    def run(
        sample: Sample,
        suite: Suite,
        *,
        samples: int = 20,
        name: str = "run",
        mask: Collection[str] = (),
    ) -> Judgement:
        return judge(
            sample,
            suite,
            InProcess(),
            run_name=name,
            docs=tmp_path / "docs",
            results=tmp_path / "runs" / name,
            samples=samples,
            mask=mask,
        )

    return run


def test_rows_that_meet_the_suite_pass(tmp_path: Path, judged: Callable[..., Judgement]) -> None:
    sample = sample_of({"quantity": [1, 2, 3]}, tmp_path)
    suite = suite_of(
        tmp_path, expect("column_values_to_be_between", column="quantity", min_value=1)
    )
    judgement = judged(sample, suite)
    assert (judgement.success, judgement.reason, judgement.rows) == (True, None, 3)
    assert judgement.failed_critical == judgement.warnings == ()
    assert judgement.suite_hash == suite.hash


def test_a_critical_failure_says_which_rows_broke_it(
    tmp_path: Path, judged: Callable[..., Judgement]
) -> None:
    sample = sample_of({"quantity": [1, -2, 3, None, -5]}, tmp_path)
    suite = suite_of(
        tmp_path, expect("column_values_to_be_between", column="quantity", min_value=1)
    )
    judgement = judged(sample, suite)
    (outcome,) = judgement.failed_critical
    assert (judgement.success, judgement.reason) == (False, "expectations")
    assert (outcome.columns, outcome.unexpected_count) == (("quantity",), 2)
    assert outcome.unexpected_percent == 50
    assert outcome.samples == (-2, -5)


def test_a_count_that_fails_is_told_with_its_bounds(
    tmp_path: Path, judged: Callable[..., Judgement]
) -> None:
    sample = sample_of({"quantity": [1, 2]}, tmp_path)
    suite = suite_of(tmp_path, expect("table_row_count_to_be_between", min_value=5, max_value=10))
    (outcome,) = judged(sample, suite).failed_critical
    assert outcome.sentence == (
        "expect_table_row_count_to_be_between(): found 2, min_value 5, max_value 10"
    )


@pytest.mark.parametrize("severity", ["warning", "info"])
def test_only_critical_failures_hold(
    tmp_path: Path, judged: Callable[..., Judgement], severity: str
) -> None:
    sample = sample_of({"quantity": [-1]}, tmp_path)
    broken = expect(
        "column_values_to_be_between", column="quantity", min_value=1, severity=severity
    )
    judgement = judged(sample, suite_of(tmp_path, broken))
    assert judgement.success
    assert [outcome.severity for outcome in judgement.warnings] == [severity]


@pytest.mark.parametrize(("mostly", "success"), [(0.75, True), (0.76, False)])
def test_mostly_is_the_share_of_rows_that_must_do(
    tmp_path: Path, judged: Callable[..., Judgement], mostly: float, success: bool
) -> None:
    sample = sample_of({"quantity": [1, 2, 3, -4]}, tmp_path)
    suite = suite_of(
        tmp_path,
        expect("column_values_to_be_between", column="quantity", min_value=1, mostly=mostly),
    )
    assert judged(sample, suite).success is success


def test_a_row_condition_chooses_the_rows(tmp_path: Path, judged: Callable[..., Judgement]) -> None:
    sample = sample_of({"cancelled": [True, True, False], "quantity": [-1, 5, 5]}, tmp_path)
    condition = {
        "type": "comparison",
        "column": {"name": "cancelled"},
        "operator": "==",
        "parameter": True,
    }
    suite = suite_of(
        tmp_path,
        expect(
            "column_values_to_be_between",
            column="quantity",
            max_value=-1,
            row_condition=condition,
        ),
    )
    (outcome,) = judged(sample, suite).failed_critical
    assert (outcome.unexpected_count, outcome.columns) == (1, ("quantity", "cancelled"))


def test_no_rows_are_never_a_success(tmp_path: Path, judged: Callable[..., Judgement]) -> None:
    sample = sample_of({"quantity": pa.array([], pa.int64())}, tmp_path)
    suite = suite_of(tmp_path, expect("column_values_to_not_be_null", column="quantity"))
    judgement = judged(sample, suite)
    assert (judgement.success, judgement.reason, judgement.rows) == (False, "empty", 0)
    assert judgement.outcomes == ()


def test_a_missing_column_breaks_the_check_and_not_the_data(
    tmp_path: Path, judged: Callable[..., Judgement]
) -> None:
    sample = sample_of({"quantity": [1]}, tmp_path)
    suite = suite_of(tmp_path, expect("column_values_to_not_be_null", column="price"))
    with pytest.raises(CheckBroke) as broke:
        judged(sample, suite)
    assert broke.value.expectation == "expect_column_values_to_not_be_null"
    assert broke.value.columns == ("price",)
    assert '"price"' in broke.value.exception
    assert not (tmp_path / "runs").exists()


def test_a_metric_that_raises_breaks_the_check(
    tmp_path: Path, judged: Callable[..., Judgement]
) -> None:
    sample = sample_of({"name": ["kettle"]}, tmp_path)
    suite = suite_of(tmp_path, expect("column_values_to_be_between", column="name", min_value=1))
    with pytest.raises(CheckBroke) as broke:
        judged(sample, suite)
    assert broke.value.columns == ("name",)


def test_a_broken_check_names_every_expectation_that_could_not_be_checked(
    tmp_path: Path, judged: Callable[..., Judgement]
) -> None:
    sample = sample_of({"quantity": [1]}, tmp_path)
    suite = suite_of(
        tmp_path,
        expect("column_values_to_not_be_null", column="quantity"),
        expect("column_values_to_not_be_null", column="price", severity="warning"),
        expect("column_values_to_be_unique", column="code"),
    )
    with pytest.raises(CheckBroke) as broke:
        judged(sample, suite)
    assert broke.value.broken == (
        "expect_column_values_to_not_be_null(price)",
        "expect_column_values_to_be_unique(code)",
    )


def test_an_expectation_that_great_expectations_refuses_is_not_dropped(
    tmp_path: Path, judged: Callable[..., Judgement]
) -> None:
    sample = sample_of({"quantity": [1]}, tmp_path)
    suite = suite_of(
        tmp_path,
        expect("column_values_to_not_be_null", column="quantity"),
        expect("column_values_to_be_between", column="quantity", min_value=1, mostly=7),
    )
    with pytest.raises(SuiteError) as refused:
        judged(sample, suite)
    assert refused.value.expectation == "expect_column_values_to_be_between"


def test_outcomes_stand_in_the_order_of_the_suite(
    tmp_path: Path, judged: Callable[..., Judgement]
) -> None:
    sample = sample_of({"quantity": [1, 2], "name": ["a", None]}, tmp_path)
    suite = suite_of(
        tmp_path,
        expect("column_values_to_not_be_null", column="name"),
        expect("table_row_count_to_equal", value=2),
        expect("column_values_to_be_unique", column="quantity", meta={"scope": "table"}),
        expect("column_values_to_be_between", column="quantity", min_value=2),
    )
    assert [o.success for o in judged(sample, suite).outcomes] == [False, True, True, False]


def test_table_scope_sees_a_key_that_was_published_before(
    tmp_path: Path, judged: Callable[..., Judgement]
) -> None:
    sink = tmp_path / "table" / "_live-0001"
    schema = spark_schema({"order_id": "string", "order_date": "date"})
    day = {"order_date": "2026-03-01"}
    files = [
        write_file(pa.table({"order_id": [key]}), sink, day, name)
        for name, key in (("new", "SO-1"), ("old", "SO-1"))
    ]
    key = {"column": "order_id"}
    suite = suite_of(
        tmp_path,
        expect("column_values_to_be_unique", **key),
        expect("column_values_to_be_unique", **key, meta={"scope": "table"}),
    )
    alone = judged(Sample((files[0],), schema, "UTC"), suite)
    beside = judged(Sample((files[0],), schema, "UTC", (files[1],)), suite)
    assert [o.success for o in alone.outcomes] == [True, True]
    assert [o.success for o in beside.outcomes] == [True, False]
    assert (beside.rows, beside.table_rows) == (1, 2)


def test_published_files_may_lie_in_another_sink_and_lack_a_new_column(
    tmp_path: Path, judged: Callable[..., Judgement]
) -> None:
    new = write_file(pa.table({"key": ["a"], "note": ["x"]}), tmp_path / "_live-0001")
    old = write_file(pa.table({"key": ["b"]}), tmp_path / "_backfill-1")
    sample = Sample((new,), spark_schema({"key": "string", "note": "string"}), "UTC", (old,))
    whole = {"meta": {"scope": "table"}}
    suite = suite_of(
        tmp_path,
        expect("column_values_to_be_unique", column="key", **whole),
        expect("column_values_to_not_be_null", column="note", **whole),
    )
    outcomes = judged(sample, suite).outcomes
    assert [(o.success, o.unexpected_count) for o in outcomes] == [(True, 0), (False, 1)]


def test_the_engines_own_columns_are_not_judged_and_partition_columns_are(
    tmp_path: Path, judged: Callable[..., Judgement]
) -> None:
    file = write_file(
        pa.table({"id": [1]}), tmp_path / "_live-0001", {"order_date": "2026-03-01", "shop": "7"}
    )
    schema = spark_schema({"id": "long", "order_date": "date", "shop": "integer"})
    suite = suite_of(
        tmp_path,
        expect("table_columns_to_match_ordered_list", column_list=["id", "order_date", "shop"]),
        expect("column_values_to_be_between", column="order_date", max_value="2026-03-01"),
        expect("column_values_to_be_in_set", column="shop", value_set=[7]),
    )
    assert judged(Sample((file,), schema, "UTC"), suite).success


@pytest.mark.parametrize(
    ("bound", "success"), [("2026-07-01T13:00:00", True), ("2026-07-01T12:59:59", False)]
)
def test_a_time_without_zone_is_one_of_the_specs_time_zone(
    tmp_path: Path, judged: Callable[..., Judgement], bound: str, success: bool
) -> None:
    noon = datetime.datetime(2026, 7, 1, 12, tzinfo=datetime.UTC)
    times = pa.array([noon], pa.timestamp("us", "UTC"))
    sample = sample_of({"at": times}, tmp_path, "Europe/London")
    suite = suite_of(tmp_path, expect("column_values_to_be_between", column="at", max_value=bound))
    assert judged(sample, suite).success is success


def test_a_decimal_is_compared_as_the_number_that_is_written(
    tmp_path: Path, judged: Callable[..., Judgement]
) -> None:
    prices = pa.array([Decimal("0.01"), Decimal("3.30")], pa.decimal128(10, 2))
    sample = sample_of({"price": prices}, tmp_path)
    suite = suite_of(
        tmp_path,
        expect("column_values_to_be_between", column="price", min_value=0.01, max_value=3.3),
        expect("column_min_to_be_between", column="price", min_value=0.01),
        expect("column_values_to_be_in_set", column="price", value_set=[0.01, 3.3]),
    )
    assert judged(sample, suite).success


def test_samples_are_capped(tmp_path: Path, judged: Callable[..., Judgement]) -> None:
    sample = sample_of({"name": [f"{CANARY}-{n}" for n in range(100)]}, tmp_path)
    suite = suite_of(tmp_path, expect("column_values_to_match_regex", column="name", regex="^x"))
    judgement = judged(sample, suite, samples=3)
    assert len(judgement.failed_critical[0].samples) == 3
    assert judgement.result is not None
    assert judgement.result.read_text().count(CANARY) == 3


def canary_suite(folder: Path) -> Suite:
    """Every expectation whose result could show a value of the data."""
    column = {"column": "name"}
    quantiles = {"quantiles": [0.5], "value_ranges": [[0, 1]]}
    return suite_of(
        folder,
        expect("column_values_to_match_regex", **column, regex="^x"),
        expect("column_values_to_be_in_set", **column, value_set=["x"]),
        expect("column_values_to_be_unique", **column),
        expect("column_values_to_be_null", **column),
        expect("column_value_lengths_to_equal", **column, value=1),
        expect("column_distinct_values_to_be_in_set", **column, value_set=["x"]),
        expect("column_most_common_value_to_be_in_set", **column, value_set=["x"]),
        expect("column_max_to_be_between", column="number", max_value=1),
        expect("column_mean_to_be_between", column="number", max_value=1),
        expect("column_quantile_values_to_be_between", column="number", quantile_ranges=quantiles),
        expect("compound_columns_to_be_unique", column_list=["name", "number"]),
        expect("column_unique_value_count_to_be_between", **column, max_value=0),
    )


@pytest.mark.parametrize(("samples", "shown"), [(0, False), (1, True)])
def test_without_samples_no_value_of_the_data_is_written_anywhere(
    tmp_path: Path, judged: Callable[..., Judgement], samples: int, shown: bool
) -> None:
    number = 90210.5
    sample = sample_of({"name": [CANARY, CANARY], "number": [number, number]}, tmp_path / "data")
    judgement = judged(sample, canary_suite(tmp_path), samples=samples)
    written = [
        path.read_text(errors="replace")
        for folder in ("docs", "runs")
        for path in (tmp_path / folder).rglob("*")
        if path.suffix in (".json", ".html")
    ]
    everything = "\n".join([*written, judgement.model_dump_json()])
    assert len(written) >= 4
    assert not any(outcome.success for outcome in judgement.outcomes)
    assert (CANARY in everything, str(number) in everything) == (shown, shown)
    counted = judgement.outcomes[-1]
    assert (judgement.outcomes[0].unexpected_count, counted.observed_value) == (2, 1)


def test_without_samples_the_text_of_an_exception_is_withheld(
    tmp_path: Path, judged: Callable[..., Judgement]
) -> None:
    sample = sample_of({"name": [CANARY]}, tmp_path)
    suite = suite_of(tmp_path, expect("column_mean_to_be_between", column="name", min_value=1))
    texts = []
    for samples in (0, 1):
        with pytest.raises(CheckBroke) as broke:
            judged(sample, suite, samples=samples)
        texts.append(json.dumps(broke.value.as_dict()))
    assert [CANARY in text for text in texts] == [False, True]


def written_anywhere(folder: Path, judgement: Judgement) -> str:
    """Everything that a judgement leaves: its own data, results and pages."""
    written = [
        path.read_text(errors="replace")
        for path in folder.rglob("*")
        if path.suffix in (".json", ".html") and "data" not in path.relative_to(folder).parts
    ]
    assert len(written) >= 4
    return "\n".join([*written, judgement.model_dump_json()])


def test_values_of_a_masked_column_are_written_nowhere_and_those_of_others_are(
    tmp_path: Path, judged: Callable[..., Judgement]
) -> None:
    number = 90210.5
    sample = sample_of({"name": [CANARY, CANARY], "number": [number, number]}, tmp_path / "data")
    # As Spark has it, whatever the letters' case.
    judgement = judged(sample, canary_suite(tmp_path), mask=["NAME"])
    everything = written_anywhere(tmp_path, judgement)
    assert (CANARY in everything, str(number) in everything) == (False, True)
    first = judgement.outcomes[0]
    assert (first.unexpected_count, first.samples) == (2, ())


def test_what_looks_at_whole_rows_shows_nothing_where_a_column_is_masked(
    tmp_path: Path, judged: Callable[..., Judgement]
) -> None:
    sample = sample_of({"name": [CANARY], "number": [1.5]}, tmp_path / "data")
    both = expect("column_pair_values_to_be_equal", column_A="number", column_B="name")
    judgement = judged(sample, suite_of(tmp_path, both), mask=["name"])
    assert not judgement.success
    assert CANARY not in written_anywhere(tmp_path, judgement)


def test_a_mask_of_no_column_is_refused_and_nothing_is_shown(
    tmp_path: Path, judged: Callable[..., Judgement]
) -> None:
    sample = sample_of({"name": [CANARY]}, tmp_path)
    with pytest.raises(MaskUnknown) as refused:
        judged(sample, canary_suite(tmp_path), mask=["nmae"])
    assert (refused.value.column, refused.value.columns) == ("nmae", ("name",))


@pytest.mark.parametrize("mask", [["number"], ["name"]])
def test_with_a_mask_the_text_of_an_exception_is_withheld(
    tmp_path: Path, judged: Callable[..., Judgement], mask: list[str]
) -> None:
    sample = sample_of({"name": [CANARY], "number": [1]}, tmp_path)
    suite = suite_of(tmp_path, expect("column_mean_to_be_between", column="name", min_value=1))
    with pytest.raises(CheckBroke) as broke:
        judged(sample, suite, mask=mask)
    assert CANARY not in json.dumps(broke.value.as_dict())


def test_a_judgement_is_plain_data(tmp_path: Path, judged: Callable[..., Judgement]) -> None:
    times = pa.array(
        [datetime.datetime(2026, 7, 1, tzinfo=datetime.UTC)], pa.timestamp("us", "UTC")
    )
    sample = sample_of(
        {"at": times, "price": pa.array([Decimal(1)], pa.decimal128(5, 2))}, tmp_path
    )
    suite = suite_of(
        tmp_path,
        expect("column_max_to_be_between", column="at", max_value="2026-01-01"),
        expect("column_values_to_be_null", column="at"),
        expect("column_values_to_be_null", column="price"),
    )
    judgement = judged(sample, suite)
    document: dict[str, Any] = json.loads(judgement.model_dump_json())
    assert document["outcomes"][0]["observed_value"] == "2026-07-01T00:00:00"
    assert document["outcomes"][2]["samples"] == [1.0]
    assert Judgement.model_validate(document) == judgement
