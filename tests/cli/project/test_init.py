"""`tidemill init FOLDER` makes a project that can be worked in at once, and overwrites nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Tidemill
from tidemill.contract.errors import ExitCode
from tidemill.contract.project import Project
from tidemill.spec.json_schema import spec_schema
from tidemill.steps.read_only.checks import dag_integrity

EXAMPLE = "my_shop_orders"


@pytest.fixture(autouse=True)
def without_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dag_integrity, "airflow_installed", lambda: False)
    monkeypatch.delenv("TIDEMILL_ROOT", raising=False)


def test_a_project_has_an_example_without_problems_and_a_root(
    tidemill: Tidemill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "mills"
    made = tidemill("init", str(home), "--json").json
    assert made["project"] == str(home)
    assert set(made["files"].values()) == {True}
    assert {*made["files"]} == {
        str(path) for path in home.rglob("*") if path.is_file() and ".tidemill" not in path.parts
    }
    project = yaml.safe_load((home / "tidemill.yaml").read_text())
    assert home / project["root"] == Path(made["root"])
    monkeypatch.setenv("TIDEMILL_PROJECTS", str(home))
    monkeypatch.setenv("TIDEMILL_ROOT", made["root"])
    assert tidemill("check", EXAMPLE, "--json").json["problems"] == []
    assert tidemill("status", EXAMPLE, "--json").exit_code == ExitCode.DONE


def test_editors_find_the_json_schema_of_this_version_in_the_project(
    tidemill: Tidemill, tmp_path: Path
) -> None:
    tidemill("init", str(tmp_path))
    specs = Project(tmp_path).specs
    first = Project(tmp_path).spec(EXAMPLE).read_text().splitlines()[0]
    named = specs / first.partition("$schema=")[2]
    assert json.loads(named.read_text()) == spec_schema()
    settings = json.loads((tmp_path / ".vscode" / "settings.json").read_text())
    ((schema, pattern),) = settings["yaml.schemas"].items()
    assert (tmp_path / schema).resolve() == named.resolve()
    assert Project(tmp_path).spec(EXAMPLE) in tmp_path.glob(pattern)


def test_what_is_there_is_kept(tidemill: Tidemill, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("mine\n")
    first = tidemill("init", str(tmp_path), "--json").json
    kept = {name for name, written in first["files"].items() if not written}
    assert kept == {str(tmp_path / ".gitignore")}
    assert (tmp_path / ".gitignore").read_text() == "mine\n"
    spec = Project(tmp_path).spec(EXAMPLE)
    spec.write_text("mine")
    again = tidemill("init", str(tmp_path), "--json").json
    assert not any(again["files"].values())
    assert again["id"] == first["id"]
    assert spec.read_text() == "mine"


def test_the_ci_file_checks_the_project_as_a_pull_request_shows_it(
    tidemill: Tidemill, tmp_path: Path
) -> None:
    tidemill("init", str(tmp_path))
    workflow = yaml.safe_load((tmp_path / ".github/workflows/tidemill.yml").read_text())
    steps = [step.get("run") for step in workflow["jobs"]["check"]["steps"]]
    assert "tidemill check --format github" in steps


def test_without_a_folder_there_is_no_example_to_leave_out(tidemill: Tidemill) -> None:
    assert tidemill("init", "--no-example").exit_code == ExitCode.USAGE
