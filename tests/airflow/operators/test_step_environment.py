"""What a step, and so a transform, sees of the environment of Airflow's worker."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from airflow.sdk.exceptions import AirflowException

from tests.airflow.conftest import NAME
from tests.support.airflow.fake_dag_run import context_of
from tests.support.airflow.fake_spark_submit import FakeSpark
from tests.support.airflow.fake_step import report_of
from tests.support.spec_text import minimal
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome
from tidemill_airflow.operators.ingest import IngestOperator
from tidemill_airflow.operators.step_environment import PASSED_TOO
from tidemill_airflow.operators.steps import DoctorOperator

AIRFLOWS_OWN = {
    "AIRFLOW__CORE__FERNET_KEY": "fernet",
    "AIRFLOW__API_AUTH__JWT_SECRET": "jwt",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql://airflow:airflow@db/airflow",
    "AIRFLOW_CONN_WAREHOUSE": "postgres://of-another-team",
    "AIRFLOW_VAR_TOKEN": "variable",
    "DEPLOY_TOKEN": "token",
    "AWS_SECRET_ACCESS_KEY": "aws",
}
NEEDED = {
    "TZ": "Europe/London",
    "LC_TIME": "C.UTF-8",
    "https_proxy": "http://proxy:3128",
    "SPARK_CONF_DIR": "/etc/spark",
    "HADOOP_CONF_DIR": "/etc/hadoop",
    "KRB5CCNAME": "/tmp/ticket",
    "SSL_CERT_FILE": "/etc/ca.pem",
    "TIDEMILL_JARS": "/opt/jars",
}
DUMP = (
    "import json, os, pathlib, sys;pathlib.Path(sys.argv[1]).write_text(json.dumps({**os.environ}))"
)


@pytest.fixture(autouse=True)
def worker(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker with secrets, and a spec that names one variable."""
    for name, value in {**AIRFLOWS_OWN, **NEEDED, "FEED": "/in/orders"}.items():
        monkeypatch.setenv(name, value)
    text = minimal("env: {FEED: null}\n", replace={"/in/orders": "${FEED}"})
    (project / "dags" / "specs" / f"{NAME}.yaml").write_text(text)


def of_a_child(tmp_path: Path) -> dict[str, str]:
    """The environment of a step that is a child process of its task."""
    dump = tmp_path / "environment.json"
    doctor = DoctorOperator(task_id="doctor", pipeline=NAME)
    doctor.command = lambda *_: (sys.executable, "-c", DUMP, str(dump))
    with pytest.raises(AirflowException, match="without a report"):
        doctor.execute(context_of())
    found: dict[str, str] = json.loads(dump.read_text())
    return found


def of_spark_submit(spark_submit: FakeSpark) -> dict[str, str]:
    """The environment of spark-submit, and so of the driver."""
    spark_submit.leaves(report_of("ingest", Outcome.DONE))
    IngestOperator(task_id="ingest", pipeline=NAME, conn_id="tidemill_spark").execute(context_of())
    found: dict[str, str] = spark_submit.call["env"]
    return found


@pytest.fixture(params=["child", "spark-submit"])
def how(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def environment_of_a_step(how: str, tmp_path: Path, spark_submit: FakeSpark) -> dict[str, str]:
    return of_a_child(tmp_path) if how == "child" else of_spark_submit(spark_submit)


def test_a_step_sees_no_secret_of_airflows(
    how: str, layout: Layout, tmp_path: Path, spark_submit: FakeSpark
) -> None:
    seen = environment_of_a_step(how, tmp_path, spark_submit)
    assert not seen.keys() & AIRFLOWS_OWN.keys()
    assert [name for name in seen if name.startswith("AIRFLOW")] == []


def test_a_step_sees_what_it_needs_and_what_its_spec_names(
    how: str, layout: Layout, tmp_path: Path, spark_submit: FakeSpark
) -> None:
    seen = environment_of_a_step(how, tmp_path, spark_submit)
    expected = {**NEEDED, "FEED": "/in/orders", "TIDEMILL_ROOT": str(layout.root)}
    assert expected.items() <= seen.items()
    assert "PATH" in seen


def test_an_operator_passes_further_variables_by_name_or_pattern(
    how: str,
    layout: Layout,
    tmp_path: Path,
    spark_submit: FakeSpark,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(PASSED_TOO, "DEPLOY_TOKEN, AWS_*")
    seen = environment_of_a_step(how, tmp_path, spark_submit)
    assert seen.keys() & AIRFLOWS_OWN.keys() == {"DEPLOY_TOKEN", "AWS_SECRET_ACCESS_KEY"}
