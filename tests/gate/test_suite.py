"""Reading suites without Great Expectations."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.parquet_sink import expect, suite_of
from tidemill.gate.suite import SuiteError, load_suite


def test_severity_is_critical_and_scope_the_increment_unless_they_are_given(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        expect("column_values_to_be_unique", column="id"),
        expect(
            "column_values_to_be_unique",
            column="id",
            severity="warning",
            meta={"scope": "table", "owner": "shop"},
        ),
    )
    assert [(e.severity, e.scope) for e in suite.expectations] == [
        ("critical", "increment"),
        ("warning", "table"),
    ]
    assert suite.of_scope("table") == suite.expectations[1:]


def test_without_row_counts_keeps_those_of_the_table_and_the_hash_of_the_whole(
    tmp_path: Path,
) -> None:
    suite = suite_of(
        tmp_path,
        expect("table_row_count_to_equal", value=1),
        expect("table_row_count_to_be_between", min_value=1, meta={"scope": "table"}),
        expect("column_values_to_be_unique", column="id"),
    )
    rest = suite.without_row_counts()
    assert rest.expectations == suite.expectations[1:]
    assert rest.hash == suite.hash


@pytest.mark.parametrize(
    ("kwargs", "columns"),
    [
        ({"column": "a"}, ("a",)),
        ({"column_A": "a", "column_B": "b"}, ("a", "b")),
        ({"column_list": ["a", "b"]}, ("a", "b")),
        ({"min_value": 1}, ()),
        (
            {
                "column": "a",
                "row_condition": {
                    "type": "and",
                    "conditions": [
                        {"type": "nullity", "column": {"name": "b"}, "is_null": False},
                        {
                            "type": "comparison",
                            "column": {"name": "a"},
                            "operator": ">",
                            "parameter": 1,
                        },
                    ],
                },
            },
            ("a", "b"),
        ),
    ],
)
def test_an_expectation_knows_its_columns(
    tmp_path: Path, kwargs: dict[str, Any], columns: tuple[str, ...]
) -> None:
    assert suite_of(tmp_path, expect("something", **kwargs)).expectations[0].columns == columns


def test_the_hash_changes_with_what_is_expected_and_not_with_the_layout(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, expect("table_row_count_to_be_between", min_value=1))
    suite.path.write_text(json.dumps(suite.raw, indent=4, sort_keys=True))
    assert load_suite(suite.path).hash == suite.hash
    mended = suite_of(tmp_path, expect("table_row_count_to_be_between", min_value=2))
    assert mended.hash != suite.hash


ROW_COUNT = {"type": "expect_table_row_count_to_be_between", "kwargs": {"min_value": 1}}


@pytest.mark.parametrize(
    ("document", "expectation"),
    [
        ("no JSON {", None),
        ("[]", None),
        ({"name": "suite"}, None),
        ({"name": "suite", "expectations": []}, None),
        ({"name": "another", "expectations": [ROW_COUNT]}, None),
        ({"name": "suite", "expectations": [{"kwargs": {}}]}, None),
        (
            {"name": "suite", "expectations": [{**ROW_COUNT, "severity": "fatal"}]},
            ROW_COUNT["type"],
        ),
        (
            {"name": "suite", "expectations": [{**ROW_COUNT, "meta": {"scope": "world"}}]},
            ROW_COUNT["type"],
        ),
    ],
)
def test_what_is_no_suite_is_refused_with_its_file(
    tmp_path: Path, document: Any, expectation: str | None
) -> None:
    path = tmp_path / "suite.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    with pytest.raises(SuiteError) as refused:
        load_suite(path)
    assert (refused.value.path, refused.value.data.get("expectation")) == (path, expectation)


def test_a_suite_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError) as refused:
        load_suite(tmp_path / "suite.json")
    assert refused.value.path == tmp_path / "suite.json"


def test_suites_and_the_choice_of_the_engine_need_neither_great_expectations_nor_a_jvm() -> None:
    program = """
import sys
import tidemill.gate.engine_choice, tidemill.gate.judge, tidemill.gate.in_process
import tidemill.gate.on_spark, tidemill.gate.gx_internals.known_expectations
print(sorted({"great_expectations", "pyspark", "pandas", "airflow"} & set(sys.modules)))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "kwargs",
    [
        {"column": "a", "row_condition": "reflect('a', 'b') = 1", "condition_parser": "spark"},
        {"unexpected_rows_query": "SELECT * FROM {batch} WHERE java_method('a', 'b') = 1"},
    ],
)
def test_a_condition_or_a_query_that_would_run_java_is_refused(
    tmp_path: Path, kwargs: dict[str, Any]
) -> None:
    with pytest.raises(SuiteError, match="any method of Java"):
        suite_of(tmp_path, expect("column_values_to_be_unique", **kwargs))


def test_a_pattern_that_holds_such_a_name_is_none(tmp_path: Path) -> None:
    given = {"column": "a", "regex": r"reflect\(.*\)"}
    suite = suite_of(tmp_path, expect("column_values_to_match_regex", **given))
    assert suite.expectations[0].kwargs == given
