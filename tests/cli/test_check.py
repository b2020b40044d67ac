"""`tidemill check` finds every mistake of a pipeline at once, with file, line and remedy."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.cli.conftest import Tidemill
from tests.support.check_problems import SPEC, SUITE, TRANSFORM, edit, found
from tests.support.pipelines.orders_pipeline import NAME, OrdersPipeline
from tidemill.contract.errors import ExitCode
from tidemill.steps.read_only.checks import dag_integrity

pytestmark = pytest.mark.usefixtures("mill")


@pytest.fixture(autouse=True)
def without_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dag_integrity, "airflow_installed", lambda: False)


def test_a_sound_pipeline_has_no_problems(tidemill: Tidemill) -> None:
    answer = tidemill("check", NAME, "--json")

    assert answer.exit_code == ExitCode.DONE
    assert answer.json == {
        "problems": [],
        "notes": [],
        "dags_checked": False,
        "suites_checked": True,
        "planned": False,
    }


def test_an_unknown_key_is_named_with_its_line_and_the_nearest_one(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    line = edit(mill, SPEC, "row_rules:", "row_rule:")

    assert found(tidemill("check", NAME, "--json")) == {(SPEC, line, "Did you mean 'row_rules'?")}


def test_every_mistake_of_a_spec_is_listed(tidemill: Tidemill, mill: OrdersPipeline) -> None:
    misspelt = edit(mill, SPEC, "row_rules:", "row_rule:")
    zone = edit(mill, SPEC, "timezone: UTC", "timezone: Utopia")

    lines = {line for _, line, _ in found(tidemill("check", NAME, "--json"))}

    assert lines == {misspelt, zone}


def test_a_misspelt_column_in_an_expression_is_found(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    spec = mill.home / "project" / SPEC
    spec.write_text(spec.read_text().replace("id IS NOT NULL", "quantty > 0 AND day IS NOT NULL"))
    line = edit(mill, SPEC, "quantty", "quantiy")

    assert found(tidemill("check", NAME, "--json")) == {(SPEC, line, "Did you mean 'quantity'?")}


def test_a_word_of_a_row_rule_that_is_no_column_is_found_however_far_from_one_it_is(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    line = edit(mill, SPEC, "id IS NOT NULL", "weight IS NOT NULL")

    ((file, where, remedy),) = found(tidemill("check", NAME, "--json"))

    assert (file, where) == (SPEC, line)
    assert "id, quantity, at, day" in remedy


def test_a_type_that_spark_does_not_know_is_found_in_the_schema(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    line = edit(mill, SPEC, "quantity int", "quantity integre")

    assert {one[:2] for one in found(tidemill("check", NAME, "--json"))} == {(SPEC, line)}


@pytest.mark.parametrize("arguments", ["", "orders, prices", "*, orders", "orders, *, n"])
def test_a_transform_that_cannot_take_its_input_is_found(
    tidemill: Tidemill, mill: OrdersPipeline, arguments: str
) -> None:
    path = mill.home / "project" / TRANSFORM
    path.write_text(f"def transform({arguments}):\n    return orders\n")

    assert found(tidemill("check", NAME, "--json")) == {
        (TRANSFORM, 1, "Write: def transform(rows): …")
    }


def test_the_transform_of_another_pipeline_is_not_proposed_for_a_missing_one(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    path = mill.home / "project" / TRANSFORM
    path.rename(path.with_name("order.py"))
    spec = mill.home / "project" / SPEC
    spec.with_name("order.yaml").write_text(spec.read_text())

    ((_, _, remedy),) = found(tidemill("check", NAME, "--json"))

    assert "order.py" not in remedy


def test_a_missing_transform_names_the_file_that_was_probably_meant(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    path = mill.home / "project" / TRANSFORM
    path.rename(path.with_name("order.py"))

    ((file, line, remedy),) = found(tidemill("check", NAME, "--json"))

    assert (file, line) == (TRANSFORM, None)
    assert "order.py" in remedy


@pytest.mark.parametrize(
    ("code", "line"), [("def transform(rows:\n", 1), ("rows = 1\n\n)", 3), ("x = 1\n", None)]
)
def test_a_transform_that_cannot_run_is_found_without_running_it(
    tidemill: Tidemill, mill: OrdersPipeline, code: str, line: int | None
) -> None:
    (mill.home / "project" / TRANSFORM).write_text(code)

    ((file, at, _),) = found(tidemill("check", NAME, "--json"))

    assert (file, at) == (TRANSFORM, line)


def test_a_transform_is_never_executed(tidemill: Tidemill, mill: OrdersPipeline) -> None:
    code = "raise SystemExit(9)\ndef transform(rows):\n    return rows\n"
    (mill.home / "project" / TRANSFORM).write_text(code)

    assert tidemill("check", NAME).exit_code == ExitCode.DONE


def test_a_missing_suite_is_found(tidemill: Tidemill, mill: OrdersPipeline) -> None:
    mill.suite.unlink()

    ((file, line, _),) = found(tidemill("check", NAME, "--json"))

    assert (file, line) == (SUITE, None)


def test_a_suite_that_is_no_json_is_found_with_its_line(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    mill.suite.write_text('{"name": "orders",\n "expectations": [}\n')

    ((file, line, _),) = found(tidemill("check", NAME, "--json"))

    assert (file, line) == (SUITE, 2)


def test_a_suite_without_expectations_is_found(tidemill: Tidemill, mill: OrdersPipeline) -> None:
    mill.suite.write_text(json.dumps({"name": NAME, "expectations": []}))

    assert len(found(tidemill("check", NAME, "--json"))) == 1


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        (
            {"type": "expect_column_values_to_be_betwen"},
            "Did you mean 'expect_column_values_to_be_between'?",
        ),
        ({"kwargs": {"column": "quantity", "min_valu": 1}}, "Did you mean 'min_value'?"),
        ({"kwargs": {"min_value": 1}}, "Add it to its kwargs."),
    ],
)
def test_an_expectation_that_great_expectations_does_not_know_is_found_with_its_line(
    tidemill: Tidemill, mill: OrdersPipeline, change: dict[str, Any], remedy: str
) -> None:
    suite = json.loads(mill.suite.read_text())
    suite["expectations"][0].update(change)
    mill.suite.write_text(json.dumps(suite, indent=1))
    lines = mill.suite.read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if '"type"' in text)

    assert found(tidemill("check", NAME, "--json")) == {(SUITE, line, remedy)}


def add_plugins(mill: OrdersPipeline, suite_type: str, engine: str) -> int:
    """An expectation of the user's own for one engine, and its line where the suite names one."""
    plugin = mill.home / "project/expectations/plugins/even.py"
    plugin.parent.mkdir()
    plugin.write_text(
        "raise RuntimeError\n"
        "class Even(ColumnMapMetricProvider):\n"
        "    condition_metric_name = 'column_values.even'\n"
        f"    @column_condition_partial(engine={engine})\n"
        "    def _condition(cls, column, **_):\n"
        "        return column % 2 == 0\n"
        "class ExpectColumnValuesToBeEven(ColumnMapExpectation):\n"
        "    map_metric = 'column_values.even'\n"
    )
    return edit(mill, SUITE, "expect_column_values_to_be_between", suite_type)


def test_an_expectation_of_the_users_own_is_known_and_none_of_its_code_runs(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    add_plugins(mill, "expect_column_values_to_be_even", "SparkDFExecutionEngine")

    assert tidemill("check", NAME, "--json").json["problems"] == []


@pytest.mark.parametrize(
    ("suite_type", "remedy"),
    [
        ("expect_column_values_to_be_evn", "Did you mean 'expect_column_values_to_be_even'?"),
        ("expect_column_values_to_be_even", "Write it with engine=SparkDFExecutionEngine too."),
    ],
    ids=["misspelt", "for pandas alone"],
)
def test_an_expectation_of_the_users_own_that_cannot_be_judged_is_found(
    tidemill: Tidemill, mill: OrdersPipeline, suite_type: str, remedy: str
) -> None:
    line = add_plugins(mill, suite_type, "PandasExecutionEngine")

    assert found(tidemill("check", NAME, "--json")) == {(SUITE, line, remedy)}


def test_all_problems_of_all_three_files_are_listed_together(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    edit(mill, SPEC, "id IS NOT NULL", "quantty > 0")
    (mill.home / "project" / TRANSFORM).unlink()
    mill.suite.unlink()

    answer = tidemill("check", NAME)

    assert answer.exit_code == ExitCode.USAGE
    assert answer.stdout.startswith("Airflow is not installed")
    assert all(file in answer.stdout for file in (SPEC, TRANSFORM, SUITE))
    assert "3 problems" in answer.stdout


def test_a_spec_that_says_none_needs_no_transform_and_no_suite(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    (mill.home / "project" / TRANSFORM).unlink()
    mill.suite.unlink()
    remedies = {file: remedy for file, _, remedy in found(tidemill("check", NAME, "--json"))}
    assert "transform: none" in remedies[TRANSFORM]
    assert "gate: {suite: none}" in remedies[SUITE]

    spec = mill.home / "project" / SPEC
    spec.write_text(spec.read_text().replace("gate:", "transform: none\ngate:\n  suite: none"))
    assert tidemill("check", NAME, "--json").json["problems"] == []


def test_a_transform_and_a_suite_of_another_project_are_found_by_name(
    tidemill: Tidemill, mill: OrdersPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, other = mill.home / "project", mill.home / "other"
    spec = project / SPEC
    spec.write_text(spec.read_text().replace("gate:", "transform: clean\ngate:\n  suite: clean"))
    for file in (TRANSFORM, SUITE):
        place = other / file.replace(NAME, "clean")
        place.parent.mkdir(parents=True)
        (project / file).rename(place)
        place.write_text(place.read_text().replace('"name": "orders"', '"name": "clean"'))
    assert tidemill("check", NAME).exit_code == ExitCode.USAGE

    monkeypatch.setenv("TIDEMILL_PROJECTS", f"{project}{os.pathsep}{other}")
    assert tidemill("check", NAME, "--json").json["problems"] == []


def test_a_name_that_does_not_exist_is_wrong_usage(tidemill: Tidemill) -> None:
    answer = tidemill("check", "order", "--json")

    assert (answer.exit_code, answer.json["data"]["nearest"]) == (ExitCode.USAGE, "orders")


def test_a_row_rule_that_uses_the_clock_is_found_by_its_name(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    line = edit(mill, SPEC, "id IS NOT NULL", "id IS NOT NULL AND at < now()")

    assert found(tidemill("check", NAME, "--json")) == {(SPEC, line, "Compute it from the row.")}


def test_a_transform_that_names_chance_is_worth_a_look_and_no_mistake(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    path = mill.home / "project" / TRANSFORM
    path.write_text(f"import random\n{path.read_text()}\ndef dice(id): return random.random()\n")

    answer = tidemill("check", NAME, "--json")

    (problem,) = answer.json["problems"]
    assert answer.exit_code == ExitCode.DONE
    assert (problem["warning"], problem["line"]) == (True, len(path.read_text().splitlines()))
    assert "random.random" in problem["what"]


def test_a_watermark_on_a_text_is_found(tidemill: Tidemill, mill: OrdersPipeline) -> None:
    spec = mill.home / "project" / SPEC
    spec.write_text(spec.read_text().replace("at timestamp", "at string"))
    line = edit(mill, SPEC, "column: at", "column: at, watermark: PT1H")

    ((file, at, _),) = found(tidemill("check", NAME, "--json"))
    assert (file, at) == (SPEC, line)
