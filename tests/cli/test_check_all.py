"""`tidemill check` looks at all pipelines, at the editors' schema, and at the DAGs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cli.conftest import Tidemill
from tests.support.check_problems import SPEC, edit, found
from tests.support.pipelines.orders_pipeline import NAME, OrdersPipeline
from tidemill.contract.errors import ExitCode
from tidemill.spec import json_schema as schema
from tidemill.steps.read_only.checks import dag_integrity

pytestmark = pytest.mark.usefixtures("mill")


@pytest.fixture
def without_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dag_integrity, "airflow_installed", lambda: False)


def answering(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Another program in place of the Airflow side's own check."""
    monkeypatch.setattr(dag_integrity, "INTEGRITY", ("-c", program))


@pytest.mark.usefixtures("without_airflow")
def test_neither_root_nor_environment_is_needed(
    tidemill: Tidemill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDEMILL_ROOT")

    assert tidemill("check", NAME).exit_code == ExitCode.DONE


@pytest.mark.usefixtures("without_airflow")
def test_files_that_would_be_passed_over_are_found(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    specs = mill.home / "project" / "dags" / "specs"
    (specs / "other.yml").write_text("{}")
    (specs / "retail.yaml").write_text("{}")

    problems = {file: remedy for file, _, remedy in found(tidemill("check", "--json"))}

    assert problems["dags/specs/other.yml"] == "Name it other.yaml."
    assert "Rename" in problems["dags/specs/retail.yaml"]


@pytest.mark.usefixtures("without_airflow")
def test_a_stale_json_schema_is_found(
    tidemill: Tidemill, mill: OrdersPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = mill.home / "spec.schema.json"
    stale.write_text("{}")
    monkeypatch.setattr(schema, "PATH", stale)

    files = {file for file, _, _ in found(tidemill("check", "--json"))}

    assert str(stale) in files


def test_their_problems_stand_beside_the_others(
    tidemill: Tidemill, mill: OrdersPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = str(mill.home / "project" / SPEC)
    own = {"file": spec, "line": None, "what": "no owner", "remedy": "Add one."}
    other = {**own, "file": spec.replace(NAME, "other")}
    answering(monkeypatch, f"print('''{json.dumps({'problems': [own, other]})}''')")

    assert found(tidemill("check", NAME, "--json")) == {(SPEC, None, "Add one.")}


def test_a_check_that_broke_is_not_taken_for_no_problems(
    tidemill: Tidemill, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, "raise SystemExit('no such thing')")

    answer = tidemill("check", NAME, "--json")

    assert (answer.exit_code, answer.json["code"]) == (ExitCode.FAILED, "IntegrityCheckBroke")
    assert answer.json["data"]["stderr"].strip() == "no such thing"


def test_the_airflow_sides_own_check_says_a_specs_mistake_once(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    line = edit(mill, SPEC, "row_rules:", "row_rule:")

    answer = tidemill("check", NAME, "--json")

    assert answer.json["dags_checked"] is True
    assert [(p["line"], p["remedy"]) for p in answer.json["problems"]] == [
        (line, "Did you mean 'row_rules'?")
    ]


def test_a_sound_pipeline_has_a_sound_dag(tidemill: Tidemill) -> None:
    answer = tidemill("check", NAME, "--json")

    assert answer.json == {
        "problems": [],
        "notes": [],
        "dags_checked": True,
        "suites_checked": True,
        "planned": False,
    }


def test_airflow_is_not_imported_into_this_process(mill: OrdersPipeline) -> None:
    program = (
        "import sys; from tidemill.steps.read_only.checks import all_checks, dag_integrity; "
        f"all_checks.check(['{NAME}']); assert dag_integrity.airflow_installed();"
        "print(sorted({'pyspark', 'great_expectations', 'airflow'} & set(sys.modules)))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=mill.environ,
        capture_output=True,
        text=True,
        check=True,
    )

    assert ended.stdout.strip() == "[]"


@pytest.mark.usefixtures("without_airflow")
def test_the_examples_are_left_out_beside_pipelines_of_ones_own(tidemill: Tidemill) -> None:
    assert tidemill("check", "actions_per_hour", "--json").json["notes"] != []
    assert tidemill("check", "--json").json["notes"] == []
