"""Connections reach the processes of a step, and nothing that anybody else can read."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from airflow.cli.cli_parser import get_parser
from airflow.sdk import Connection, Context
from airflow.sdk._shared.secrets_masker import redact
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from tests.airflow.conftest import NAME
from tests.airflow.operators.conftest import EXTRA_SECRET, KAFKA, PASSWORD, SPEC, TOKEN
from tests.servers.ports import free_ports
from tests.support.airflow.fake_spark_submit import FakeSpark
from tests.support.airflow.fake_step import leaving, report_of
from tests.support.pages import BLOCKS
from tidemill.contract.connections import airflow as contract
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome, Step
from tidemill.spec.pipeline import open_pipeline
from tidemill_airflow.operators.connections import connection_variables
from tidemill_airflow.operators.ingest import IngestOperator
from tidemill_airflow.operators.steps import DoctorOperator, GateOperator, PublishOperator

MASTERS = ("local[2]", "spark://m1:7077", "yarn", "k8s://https://cluster.example")
STEPS = ("doctor", "ingest", "gate", "publish")


def recording(step: Step, at: Path, layout: Layout) -> Any:
    """A step's command that notes its own command line and environment, and is done."""
    done = leaving(layout.runs, report_of(step, Outcome.DONE))
    noting = (
        "import json, os, pathlib, sys; "
        "me = pathlib.Path('/proc/self/cmdline').read_text().split(chr(0)); "
        f"pathlib.Path({str(at)!r}).write_text(json.dumps([me, dict(os.environ)])); "
    )

    def command(step: Step, pipeline: str, run_id: str) -> tuple[str, ...]:
        python, flag, script, *arguments = done(step, pipeline, run_id)
        return (python, flag, noting + f"exec({script!r})", *arguments)

    return command


def ingest() -> IngestOperator:
    return IngestOperator(task_id="ingest", pipeline=NAME, conn_id="tidemill_spark")


def seen_by(step: Step, spark_submit: FakeSpark, layout: Layout, context: Context, at: Path) -> Any:
    """The command line and the environment of one step's process."""
    if step == "ingest":
        spark_submit.leaves(report_of("ingest", Outcome.DONE))
        ingest().execute(context)
        return spark_submit.call["argv"], spark_submit.call["env"]
    operator: Any = {
        "doctor": lambda: DoctorOperator(task_id="doctor", pipeline=NAME),
        "gate": lambda: GateOperator(task_id="gate", pipeline=NAME, conn_id="tidemill_spark"),
        "publish": lambda: PublishOperator(
            task_id="publish", pipeline=NAME, conn_id="tidemill_spark"
        ),
    }[step]()
    operator.command = recording(step, at, layout)
    operator.execute(context)
    return json.loads(at.read_text())


@pytest.mark.parametrize("step", STEPS)
def test_every_step_gets_the_connections_in_its_environment_and_not_as_arguments(
    secret_spec: Path,
    spark_submit: FakeSpark,
    layout: Layout,
    context: Context,
    tmp_path: Path,
    step: Any,
) -> None:
    argv, environ = seen_by(step, spark_submit, layout, context, tmp_path / "seen")
    kafka = contract.connection("tidemill_kafka", environ)
    assert kafka.password is not None
    assert kafka.password.get_secret_value() == PASSWORD
    assert kafka.settings == KAFKA["extra"]
    assert contract.connection("warehouse", environ).host == "db.example"
    for secret in (PASSWORD, EXTRA_SECRET, "canary-pg", TOKEN, "AIRFLOW_CONN"):
        assert not any(secret in word for word in argv)


@pytest.mark.parametrize("master", MASTERS)
@pytest.mark.usefixtures("answering_masters")
def test_no_master_brings_them_onto_the_command_line(
    secret_spec: Path,
    spark_submit: FakeSpark,
    layout: Layout,
    context: Context,
    monkeypatch: pytest.MonkeyPatch,
    master: str,
) -> None:
    connection = {"conn_type": "spark", "host": master, "extra": {"namespace": "mills"}}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_SPARK", json.dumps(connection))
    spark_submit.leaves(report_of("ingest", Outcome.DONE))
    ingest().execute(context)
    assert spark_submit.call["argv"][:2] == ["--master", master]
    assert "AIRFLOW_CONN_WAREHOUSE" in spark_submit.call["env"]
    assert spark_submit.call["env"]["PYSPARK_PYTHON"] == sys.executable
    assert spark_submit.call["env"]["FEED_TOKEN"] == TOKEN
    for secret in ("AIRFLOW_CONN", TOKEN):
        assert not any(secret in word for word in spark_submit.call["argv"])


@pytest.mark.parametrize("master", MASTERS)
def test_a_driver_on_another_machine_is_refused_where_there_are_connections(
    secret_spec: Path,
    spark_submit: FakeSpark,
    layout: Layout,
    context: Context,
    monkeypatch: pytest.MonkeyPatch,
    master: str,
) -> None:
    connection = {
        "conn_type": "spark",
        "host": master,
        "extra": {"deploy-mode": "cluster", "namespace": "mills"},
    }
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_SPARK", json.dumps(connection))
    with pytest.raises(AirflowFailException, match="deploy-mode"):
        ingest().execute(context)
    assert not spark_submit.called


def test_a_driver_on_a_worker_of_a_standalone_cluster_is_refused_without_any_secret(
    spark_submit: FakeSpark, layout: Layout, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = {"deploy-mode": "cluster"}
    connection = {"conn_type": "spark", "host": "spark://m1:7077", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_SPARK", json.dumps(connection))
    with pytest.raises(AirflowFailException, match="deploy-mode"):
        ingest().execute(context)
    assert not spark_submit.called


@pytest.mark.usefixtures("answering_masters")
def test_the_connection_that_the_page_on_clusters_adds_leads_to_its_master(
    spark_submit: FakeSpark, layout: Layout, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = get_parser().parse_args(shlex.split(BLOCKS["cluster-connection"])[1:])
    assert added.conn_id == "tidemill_spark"
    connection = {"conn_type": added.conn_type, "host": added.conn_host}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_SPARK", json.dumps(connection))
    spark_submit.leaves(report_of("ingest", Outcome.DONE))
    ingest().execute(context)
    assert spark_submit.call["argv"][:2] == ["--master", "spark://tide:7077"]


def test_a_cluster_whose_masters_do_not_answer_is_tried_again_and_no_driver_waits_for_it(
    spark_submit: FakeSpark, layout: Layout, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    (port,) = free_ports(1)
    connection = {"conn_type": "spark", "host": f"spark://127.0.0.1:{port}"}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_SPARK", json.dumps(connection))
    with pytest.raises(AirflowException, match="MastersUnreachable") as error:
        ingest().execute(context)
    assert not isinstance(error.value, AirflowFailException)
    assert not spark_submit.called


@pytest.mark.usefixtures("answering_masters")
def test_the_secret_of_a_cluster_is_in_the_environment_of_spark_submit_alone(
    spark_submit: FakeSpark,
    layout: Layout,
    context: Context,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    extra = {"spark.authenticate.secret": "canary-cluster"}
    connection = {"conn_type": "spark", "host": "spark://m1:7077", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_SPARK", json.dumps(connection))
    spark_submit.leaves(report_of("ingest", Outcome.DONE))
    ingest().execute(context)
    assert spark_submit.call["env"]["_SPARK_AUTH_SECRET"] == "canary-cluster"
    assert "spark.authenticate=true" in spark_submit.call["argv"]
    assert "spark.network.crypto.enabled=true" in spark_submit.call["argv"]
    assert not any("canary" in word for word in spark_submit.call["argv"])
    assert "canary" not in caplog.text


def test_a_connection_that_is_missing_is_named_with_the_command_to_add_it(
    secret_spec: Path, layout: Layout, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AIRFLOW_CONN_WAREHOUSE")
    operator = DoctorOperator(task_id="doctor", pipeline=NAME)
    with pytest.raises(
        AirflowFailException, match="airflow connections add warehouse --conn-type postgres"
    ):
        operator.execute(context)


def test_the_missing_connection_of_a_static_input_is_named_too(
    secret_spec: Path, layout: Layout
) -> None:
    customers = "{kind: mariadb, conn_id: crm, query: SELECT 1, schema: id int}"
    secret_spec.write_text(f"{SPEC}statics: {{customers: {customers}}}\n")
    with pytest.raises(AirflowFailException, match="add crm --conn-type mysql"):
        connection_variables(open_pipeline(NAME).spec)


def test_a_pipeline_without_connections_asks_for_none(
    spark_submit: FakeSpark, layout: Layout, context: Context
) -> None:
    spark_submit.leaves(report_of("ingest", Outcome.DONE))
    ingest().execute(context)
    assert "AIRFLOW_CONN_TIDEMILL_KAFKA" not in spark_submit.call["env"]


def test_whatever_a_connection_holds_is_masked_however_it_is_written(
    secret_spec: Path, layout: Layout
) -> None:
    assert redact(f"before {EXTRA_SECRET}") == f"before {EXTRA_SECRET}"
    connection_variables(open_pipeline(NAME).spec)
    uri = Connection.from_json(json.dumps(KAFKA), conn_id="x").get_uri()
    written = (
        PASSWORD,
        quote(PASSWORD, safe=""),
        quote(PASSWORD),
        json.dumps(PASSWORD)[1:-1],
        PASSWORD.replace("\\", "\\\\").replace('"', '\\"'),
        EXTRA_SECRET,
        "4711815",
        uri,
        "canary-pg",
    )
    for text in written:
        assert text not in str(redact(f"it is {text}, you see"))


def test_addresses_and_users_can_still_be_read(
    secret_spec: Path, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = {"bootstrap.servers": "broker.example:9092", "sasl.username": "tidemill"}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", json.dumps({**KAFKA, "extra": extra}))
    connection_variables(open_pipeline(NAME).spec)
    said = "tidemill: no broker at broker.example:9092, and no database at db.example"
    assert redact(said) == said


def test_a_key_is_masked_line_by_line(
    secret_spec: Path, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj", "-----END"]
    extra = {"bootstrap.servers": "broker.example:9092", "ssl.key.pem": "\n".join(lines)}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", json.dumps({**KAFKA, "extra": extra}))
    connection_variables(open_pipeline(NAME).spec)
    assert lines[1] not in str(redact(f"a line of it: {lines[1]}"))
