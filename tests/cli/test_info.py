"""`tidemill --version` and `tidemill info`: what is installed, where, and what is missing."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import History
from tidemill.contract.errors import ExitCode
from tidemill.contract.project import REPOSITORY
from tidemill.toolchain.jars import all_sets


def test_the_version_is_that_of_the_installed_package(tidemill: Tidemill) -> None:
    answer = tidemill("--version")
    assert answer.exit_code == ExitCode.DONE
    assert answer.stdout.split() == ["tidemill", version("tidemill")]


def test_info_knows_versions_and_paths(tidemill: Tidemill, history: History) -> None:
    answer = tidemill("info", "--json")
    assert answer.exit_code == ExitCode.DONE
    found = answer.json
    assert found["version"] == version("tidemill")
    assert found["packages"]["pyspark"] == version("pyspark")
    assert "pytest" not in found["packages"]
    assert found["paths"]["root"] == history.environ["TIDEMILL_ROOT"]
    assert found["paths"]["dag_file"] == str(REPOSITORY / "dags" / "pipelines.py")
    assert [name for name, path in found["paths"].items() if path == str(history.project.home)]


def test_info_says_what_is_missing_and_what_to_do(
    tidemill: Tidemill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMILL_JARS", str(tmp_path / "jars"))
    monkeypatch.setenv("TIDEMILL_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("TIDEMILL_PROJECTS", str(tmp_path / "mills"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    found = tidemill("info", "--json").json
    assert (found["java"], found["paths"]["java_home"]) == (None, None)
    said = " ".join(one["what"] for one in found["missing"])
    assert all(str(tmp_path / absent) in said for absent in ("root", "mills", "java"))
    assert all(all_sets()[name][0].name in said for name in ("kafka", "avro"))
    assert all(one["remedy"] for one in found["missing"])


def test_info_without_a_root_says_so(tidemill: Tidemill, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIDEMILL_ROOT", raising=False)
    found = tidemill("info", "--json").json
    assert found["paths"]["root"] is None
    assert any("TIDEMILL_ROOT" in one["what"] for one in found["missing"])
    assert tidemill("info").exit_code == ExitCode.DONE


def test_a_command_without_its_extra_names_it(
    tidemill: Tidemill, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    # To import it then fails as if it were not installed.
    monkeypatch.setitem(sys.modules, "duckdb", None)
    answer = tidemill("sql", "SELECT 1", "--json")
    assert answer.exit_code == ExitCode.USAGE
    error = answer.json
    assert error["code"] == "ExtraMissing"
    assert error["data"] == {"module": "duckdb", "extra": "engine"}
    assert "tidemill[engine]" in error["remedy"]
