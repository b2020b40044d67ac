"""Passwords of connections appear nowhere: not on disk, in Airflow's database or in `ps`.

Two pipelines read the same topic with a password and publish to PostgreSQL with one: each has one
of its connections in Airflow's environment and the other in its database. A third may not log in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from deltalake import DeltaTable

from tests.servers.kafka import Broker
from tests.servers.kafka_client import Record
from tests.servers.postgres import Postgres
from tests.support.airflow.running_airflow import Airflow, running, until
from tests.support.airflow.secret_search import CommandLines, files_with, tables_with
from tests.support.pipelines.kafka_pipeline import SUITE, order, spec_of
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tests.support.pipelines.user_project import write_pipeline
from tests.support.processes import child
from tests.support.shown_errors import seen_in
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome, read

TOPIC = "canary-orders"
ROWS = 5
# It writes down the names of the variables that it sees.
TRANSFORM = """\
import os
from pathlib import Path


def transform(orders):
    names = "\\n".join(sorted(os.environ))
    Path(os.environ["TIDEMILL_ROOT"], f"variables-{os.getpid()}.txt").write_text(names)
    return orders
"""
PLANTED = "PlantedInTheMine42"
# Both connections can hold it, and no server is ever asked for it.
UNUSED = "SingingInTheExtra42"
# Pipeline -> the ids of its two connections; the first two do the same by other ways.
PIPELINES = {
    "env_then_db": ("kafka_env", "postgres_db"),
    "db_then_env": ("kafka_db", "postgres_env"),
    "locked_out": ("kafka_wrong", "postgres_db"),
}
PUBLISHING = ("env_then_db", "db_then_env")


def spec(kafka: str, postgres: str, events: Path) -> dict[str, Any]:
    """From a topic to a table, with Spark telling as much as it can of what it does."""
    return {
        **spec_of(TOPIC, conn_id=kafka),
        "wake": {"kafka": {"poke": "5s"}},
        "publish": [
            {"kind": "delta"},
            {"kind": "postgres", "conn_id": postgres, "table": f"orders_by_{kafka}"},
        ],
        "airflow": {"retries": 1, "retry_delay": "1s"},
        "spark": {
            "conf": {
                "spark.eventLog.enabled": True,
                "spark.eventLog.dir": str(events),
                "spark.eventLog.compress": False,
                "spark.log.level": "INFO",
            }
        },
    }


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory, broker: Broker) -> OrdersPipeline:
    found = OrdersPipeline(tmp_path_factory.mktemp("canary"))
    events = found.root / "events"
    events.mkdir()
    for name, (kafka, postgres) in PIPELINES.items():
        text = spec(kafka, postgres, events)
        write_pipeline(found.home / "project", name, text, transform=TRANSFORM, suite=SUITE)
    broker.create_topic(TOPIC)
    return found


@pytest.fixture(scope="module")
def database(postgres: Postgres) -> str:
    return postgres.fresh_database()


@pytest.fixture(scope="module")
def secrets(broker: Broker, postgres: Postgres) -> tuple[str, ...]:
    """What must not be found: passwords of real servers, and one that is in every extra."""
    return broker.password, postgres.password, UNUSED


@pytest.fixture(scope="module")
def lines() -> Iterator[CommandLines]:
    with CommandLines().watching() as lines:
        yield lines


@pytest.fixture(scope="module")
def airflow(
    mill: OrdersPipeline,
    broker: Broker,
    postgres: Postgres,
    database: str,
    lines: CommandLines,
    child_airflow: Path,
) -> Iterator[Airflow]:
    settings = {**broker.settings("SASL_PLAINTEXT"), "kafka.ssl.key.password": UNUSED}
    wrong = {**settings, "sasl.password": broker.password + "-wrong"}
    server = f"{postgres.user}:{quote(postgres.password, safe='')}@127.0.0.1:{postgres.port}"
    to_postgres = f"postgres://{server}/{database}?sslmode=disable&sslpassword={UNUSED}"
    to_kafka = f"kafka://?{urlencode({'__extra__': json.dumps(settings)})}"
    # The same again, with the password where Airflow has a field of its own for it.
    extra = {name: value for name, value in settings.items() if name != "sasl.password"}
    by_field = {"conn_type": "kafka", "password": broker.password, "extra": extra}
    environ = {
        **mill.environ,
        "AIRFLOW_CONN_KAFKA_ENV": json.dumps(by_field),
        "AIRFLOW_CONN_KAFKA_WRONG": json.dumps({"conn_type": "kafka", "extra": wrong}),
        "AIRFLOW_CONN_POSTGRES_ENV": to_postgres,
    }
    stored = {"kafka_db": to_kafka, "postgres_db": to_postgres}
    with running(mill.home / "airflow", environ, stored) as airflow:
        until(lambda: all(map(airflow.knows, PIPELINES)), "the DAGs are parsed")
        yield airflow


def rows(postgres: Postgres, database: str, table: str) -> list[Any]:
    with postgres.connect(database) as connection:
        exists = connection.execute("SELECT to_regclass(%s) IS NOT NULL", [table]).fetchone()
        if exists != (True,):
            return []
        return connection.execute(f"SELECT id FROM {table} ORDER BY id".encode()).fetchall()


def test_records_wake_the_pipelines_which_read_and_publish_with_their_passwords(
    mill: OrdersPipeline, broker: Broker, postgres: Postgres, database: str, airflow: Airflow
) -> None:
    for name in PIPELINES:
        airflow.patch(f"/dags/{name}", {"is_paused": False})
    broker.produce(TOPIC, [Record(key=None, value=order(number)) for number in range(ROWS)])
    for name in PUBLISHING:
        until(lambda name=name: airflow.ended(name), f"{name} has run")
        assert airflow.runs(name)[0]["run_type"] == "asset_triggered"
        assert airflow.runs(name)[0]["state"] == "success"
        assert DeltaTable(Layout(mill.root, name).table).to_pyarrow_table().num_rows == ROWS
        table = f"orders_by_{PIPELINES[name][0]}"
        assert len(rows(postgres, database, table)) == ROWS


def test_a_wrong_password_is_an_error_of_the_doctor(mill: OrdersPipeline, airflow: Airflow) -> None:
    until(lambda: airflow.ended("locked_out"), "the doctor was woken and has spoken")
    run = airflow.runs("locked_out")[0]
    assert run["state"] == "failed"
    doctor = read(Layout(mill.root, "locked_out").run(run["dag_run_id"]), "doctor")
    assert doctor is not None
    assert doctor.outcome is Outcome.FAILED
    assert doctor.error is not None
    seen_in(doctor.error["code"])
    assert doctor.error["code"] == "BrokerRefuses"


def test_the_search_finds_a_leak_in_each_place(
    mill: OrdersPipeline, airflow: Airflow, lines: CommandLines
) -> None:
    home, name = mill.home / "airflow", PUBLISHING[0]
    run = airflow.runs(name)[0]["dag_run_id"]
    report = Layout(mill.root, name).run(run) / "planted.json"
    report.write_text(json.dumps({"error": f"no login with {PLANTED}"}))
    log = next((home / "logs").rglob("attempt=1.log"))
    with log.open("a") as file:
        file.write(f"password={PLANTED}\n")
    task = f"/dags/{name}/dagRuns/{run}/taskInstances/doctor"
    airflow.post(f"{task}/xcomEntries", {"key": "planted", "value": PLANTED, "map_index": -1})
    with child("import time; time.sleep(60)", PLANTED):
        until(lambda: lines.with_(PLANTED), "it is seen on a command line")

    assert report in files_with(PLANTED, mill.root)
    assert log in files_with(PLANTED, home)
    assert "xcom" in tables_with(PLANTED, home / "airflow.db")


def test_a_transform_sees_the_connections_of_its_pipeline_and_nothing_else_of_airflows(
    mill: OrdersPipeline, airflow: Airflow
) -> None:
    seen = [set(path.read_text().split()) for path in mill.root.glob("variables-*.txt")]
    own = [{f"AIRFLOW_CONN_{name.upper()}" for name in PIPELINES[one]} for one in PUBLISHING]
    found = [{name for name in names if name.startswith("AIRFLOW")} for names in seen]
    assert found
    assert all(names in own for names in found)


def test_no_password_is_anywhere(
    mill: OrdersPipeline, airflow: Airflow, lines: CommandLines, secrets: tuple[str, ...]
) -> None:
    home = mill.home / "airflow"
    # The places are not empty: events of Spark, logs of every step, its submit's command line.
    assert files_with("SparkListenerSQLExecutionStart", mill.root / "events")
    assert files_with("tidemill: publish done", home / "logs")
    assert "connection" in tables_with("kafka_db", home / "airflow.db")
    assert [line for line in lines.with_("spark-submit") if b"env_then_db" in line]
    for secret in secrets:
        assert files_with(secret, mill.root, home, mill.home / "project") == []
        assert tables_with(secret, home / "airflow.db") == []
        assert lines.with_(secret) == []
