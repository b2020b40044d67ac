"""Airflow's section `[tidemill]`: steps in another environment, and where everything is."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from airflow.providers_manager import ProvidersManager

from tests.airflow.conftest import NAME
from tests.support.airflow.fake_dag_run import context_of
from tests.support.airflow.fake_spark_submit import FakeSpark
from tests.support.airflow.fake_step import report_of
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome
from tidemill.toolchain.engine_environment import APPLICATION, EnginePythonUnusable
from tidemill_airflow.dag import dags
from tidemill_airflow.operators.command import step_command
from tidemill_airflow.operators.ingest import IngestOperator
from tidemill_airflow.settings import engine_environment, variables_for_steps

PYTHON = "AIRFLOW__TIDEMILL__PYTHON"
UV = Path(sys.executable).with_name("uv")


@pytest.fixture
def other_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The Python of a second environment, with the packages of this one; `[tidemill]` names it."""
    folder = tmp_path / "engine"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    site = next((folder / "lib").glob("python3*")) / "site-packages"
    packages = sysconfig.get_path("purelib")
    (site / "all.pth").write_text(f"import site; site.addsitedir({packages!r})\n")
    python = folder / "bin" / "python"
    monkeypatch.setenv(PYTHON, str(python))
    return python


def test_a_step_is_started_by_the_python_of_the_section(other_python: Path) -> None:
    command = step_command("gate", [NAME], "run-1")
    assert command[:3] == (str(other_python), str(APPLICATION), "gate")


def test_a_driver_gets_the_other_environments_python_spark_and_no_foreign_path(
    other_python: Path, spark_submit: FakeSpark, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    (spark_submit.folder / "spark-submit").rename(other_python.with_name("spark-submit"))
    spark_submit.folder = other_python.parent
    monkeypatch.setenv("PYTHONPATH", "/airflows/own")
    spark_submit.leaves(report_of("ingest", Outcome.DONE))
    IngestOperator(task_id="ingest", pipeline=NAME, conn_id="tidemill_spark").execute(context_of())
    environ = spark_submit.call["env"]
    assert environ["PYSPARK_PYTHON"] == environ["PYSPARK_DRIVER_PYTHON"] == str(other_python)
    assert "PYTHONPATH" not in environ
    assert environ["TIDEMILL_JARS"] == engine_environment().jars


def test_steps_run_in_airflows_environment_where_the_section_names_none() -> None:
    assert engine_environment().python == sys.executable
    assert variables_for_steps() == dict(os.environ)


@pytest.mark.parametrize("script", ["", "#!/bin/sh\necho 'No module named tidemill' >&2; exit 1\n"])
def test_a_python_without_tidemill_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    python = tmp_path / "python"
    if script:
        python.write_text(script)
        python.chmod(0o755)
    monkeypatch.setenv(PYTHON, str(python))
    with pytest.raises(EnginePythonUnusable) as raised:
        engine_environment()
    assert raised.value.python == python


def test_another_version_of_tidemill_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    found = '{"python": "", "application": "", "jars": "", "java": null, "version": "0.0.1"}'
    python.write_text(f"#!/bin/sh\necho '{found}'\n")
    python.chmod(0o755)
    monkeypatch.setenv(PYTHON, str(python))
    with pytest.raises(EnginePythonUnusable, match=r"0\.0\.1"):
        engine_environment()


def test_root_and_projects_of_the_section_hold_unless_a_variable_is_set(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__TIDEMILL__PROJECTS", str(project))
    monkeypatch.setenv("AIRFLOW__TIDEMILL__ROOT", "/srv/of-the-section")
    monkeypatch.setenv("TIDEMILL_ROOT", "/srv/of-the-variable")
    # Given back by `monkeypatch`, though `dags` sets it.
    monkeypatch.setenv("TIDEMILL_PROJECTS", "")
    monkeypatch.delenv("TIDEMILL_PROJECTS")
    assert NAME in {dag.dag_id for dag in dags()}
    assert os.environ["TIDEMILL_ROOT"] == "/srv/of-the-variable"


def test_airflow_lists_the_section_with_every_option() -> None:
    sections = dict(ProvidersManager().provider_configs)["tidemill"]
    assert set(sections["tidemill"]["options"]) == {"root", "projects", "examples", "python"}
