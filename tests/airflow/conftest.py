"""An Airflow home of the tests' own, and a small project."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.airflow.fake_spark_submit import FakeSpark
from tests.support.spec_text import minimal
from tidemill.contract.layout import Layout
from tidemill.contract.project import REPOSITORY

# Airflow reads its environment when it is first imported, and never again.
assert "airflow" not in sys.modules
HOME = tempfile.mkdtemp(prefix="tidemill-airflow-")
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
os.environ.update(
    AIRFLOW_HOME=HOME,
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    AIRFLOW__CORE__DAGS_FOLDER=str(REPOSITORY / "dags"),
    # Whatever holds for the shipped pipelines is shown for each of them.
    TIDEMILL_EXAMPLES="all",
)

NAME = "orders"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one small spec, `orders`, on the search path."""
    home = tmp_path / "project"
    (home / "dags" / "specs").mkdir(parents=True)
    (home / "dags" / "specs" / f"{NAME}.yaml").write_text(minimal())
    monkeypatch.setenv("TIDEMILL_PROJECTS", str(home))
    return home


@pytest.fixture
def layout(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """Where the small project's pipeline is."""
    root = tmp_path / "root"
    root.mkdir()
    monkeypatch.setenv("TIDEMILL_ROOT", str(root))
    return Layout(root, NAME)


@pytest.fixture
def spark_submit(tmp_path: Path, layout: Layout, monkeypatch: pytest.MonkeyPatch) -> FakeSpark:
    """A spark-submit that starts no JVM, and a connection for it."""
    found = FakeSpark(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{found.folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_SPARK", '{"conn_type": "spark", "host": "local[2]"}')
    monkeypatch.setattr("tidemill_airflow.operators.command.java_home", lambda _: Path("/java"))
    return found


@pytest.fixture
def answering_masters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every standalone master answers, whatever its name."""
    monkeypatch.setattr("tidemill_airflow.operators.spark_hook.verify_masters", lambda *_: None)


@pytest.fixture(scope="session")
def airflow_database() -> None:
    """Airflow's metadata database, in the tests' own home."""
    from tidemill_airflow.local.metadata import prepare

    prepare()
