"""`tidemill init --airflow` makes pool, connection and DAG file, by Airflow's own commands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill, tidemill
from tidemill.contract.errors import ExitCode

__all__ = ["tidemill"]


@pytest.mark.usefixtures("child_airflow")
def test_what_airflow_lacks_is_made_and_what_it_has_is_kept(
    tidemill: Tidemill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    monkeypatch.setenv("TIDEMILL_ROOT", str(tmp_path / "root"))
    for name in (
        "AIRFLOW_CONN_TIDEMILL_SPARK",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN",
        "AIRFLOW__CORE__DAGS_FOLDER",
    ):
        monkeypatch.delenv(name, raising=False)
    refused = tidemill("init", "--airflow", "--json")
    assert (refused.exit_code, refused.json["code"]) == (ExitCode.USAGE, "AirflowRefused")
    airflow = Path(sys.executable).with_name("airflow")
    subprocess.run([airflow, "db", "migrate"], check=True, capture_output=True)
    first = tidemill("init", "--airflow", "--json")
    assert first.exit_code == ExitCode.DONE
    assert {*first.json["airflow"].values()} == {"made"}
    assert {*tidemill("init", "--airflow", "--json").json["airflow"].values()} == {"kept"}
