"""Every service of docker-compose.yaml at work, as processes of this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import obstore
import psycopg
import pytest
import yaml
from confluent_kafka.admin import AdminClient
from deltalake import DeltaTable
from obstore.store import S3Store

from tests.cluster.shell import tidemill
from tests.compose.composition import Composition, written_env
from tests.compose.stage import Stage
from tests.servers.kafka_client import KafkaClient, Record
from tests.servers.spark import ended_applications
from tests.support.airflow.statsd_receiver import StatsdReceiver
from tests.support.processes import wait_for
from tidemill.contract.connections.airflow import connection
from tidemill.contract.project import REPOSITORY
from tidemill.samples.shop_orders import write_day
from tidemill_airflow.task_names import resolve_id

# Seconds; a run starts several Pythons with Airflow in them, and a driver with an executor.
PATIENCE = 600.0
ENDED = {"success", "failed"}
ACTIONS = ("open", "close", "Open")
# A pipeline of the user's own: the demo's, with the files in a bucket.
DELIVERED = """\
schedule: "@daily"
timezone: Europe/London
env: {TIDEMILL_INPUT: null}
sources:
  orders:
    kind: file
    format: csv
    path: ${TIDEMILL_INPUT}/delivered_orders
    fetch: {url: s3://deliveries/orders, conn_id: deliveries}
    schema: >-
      order_id string, customer_id string, product string, quantity int,
      unit_price decimal(10,2), ordered_at timestamp
    options: {timestampFormat: "yyyy-MM-dd HH:mm:ss", escape: '"'}
event_time: {column: ordered_at}
row_rules: {order_known: order_id IS NOT NULL}
transform: none
output: {partition_by: {order_date: to_date(ordered_at)}}
gate: {suite: none, rejected: {hold_above: 0.1}}
"""
SPECS = {path.stem: path for path in (REPOSITORY / "dags" / "specs").glob("*.yaml")}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, child_airflow: Path) -> Iterator[Stage]:
    """All of them up."""
    home = tmp_path_factory.mktemp("compose")
    stage = Stage(Composition(written_env(home)), home / "data")
    try:
        stage.up()
        yield stage
    finally:
        stage.down()


@pytest.fixture(scope="module")
def api(stage: Stage) -> Iterator[httpx.Client]:
    """Airflow's REST API, for whoever has the password of `.env`."""
    url = f"http://127.0.0.1:{stage.port('airflow-apiserver', 8080)}"
    with httpx.Client(base_url=url, timeout=300) as client:
        made = log_in(client, stage.composition.environ["ADMIN_PASSWORD"])
        client.headers["Authorization"] = f"Bearer {made.json()['access_token']}"
        yield client


def log_in(client: httpx.Client, password: str) -> httpx.Response:
    return client.post("/auth/token", json={"username": "admin", "password": password})


def test_every_service_comes_up_and_is_healthy(stage: Stage) -> None:
    assert stage.ended == ["airflow-init"]
    assert sorted(stage.healthy + stage.ended) == sorted(stage.composition.services)
    assert stage.is_healthy("postgres")
    assert stage.is_healthy("warehouse-db")


def test_the_password_of_the_env_is_the_login(stage: Stage, api: httpx.Client) -> None:
    assert log_in(api, "admin").status_code == 401
    assert (stage.home / "airflow" / "passwords.json").stat().st_mode & 0o777 == 0o600


def test_the_metadata_has_our_pool_and_the_pipelines(api: httpx.Client) -> None:
    assert api.get("/api/v2/pools/tidemill").json()["slots"] >= 1
    gated = {name for name, path in SPECS.items() if "sink" not in yaml.safe_load(path.read_text())}
    wait_for(lambda: dags(api) == {*SPECS, *map(resolve_id, gated)}, PATIENCE)


def test_a_run_goes_through_all_of_it_and_publishes(stage: Stage, api: httpx.Client) -> None:
    write_day(stage.home / "input" / "shop_orders", 1)
    assert run(api, "shop_orders") == {"success"}
    assert ended_on(stage) == [("tidemill ingest shop_orders", "FINISHED")]
    table = stage.home / "root" / "shop_orders" / "table"
    assert DeltaTable(table).to_pyarrow_table().num_rows > 0


def test_the_workers_have_joined_the_master_that_the_connection_names(stage: Stage) -> None:
    named = connection("tidemill_spark", stage.environment("airflow-scheduler")).host
    seen = masters_view(stage)
    assert seen["url"] == named
    assert [worker["state"] for worker in seen["workers"]] == ["ALIVE", "ALIVE"]


def test_kafka_serves_containers_and_this_machine_each_at_its_own_address(stage: Stage) -> None:
    settings = connection("tidemill_kafka", stage.environment("airflow-scheduler")).settings
    inner, outer = stage.port("kafka", 29092), stage.port("kafka", 9092)
    assert settings["bootstrap.servers"] == f"127.0.0.1:{inner}"
    for port in (inner, outer):
        client = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"})
        assert {broker.port for broker in client.list_topics(timeout=30).brokers.values()} == {port}


def test_the_warehouse_is_a_database_of_its_own(stage: Stage) -> None:
    found = connection("warehouse", stage.environment("airflow-scheduler"))
    assert found.password is not None
    with warehouse(stage, str(found.schema_)) as connected:
        connected.execute("CREATE TABLE made (id int)")
        assert connected.execute("SELECT current_user, current_database()").fetchone() == (
            "warehouse",
            "warehouse",
        )
    given = stage.environment("airflow-scheduler")["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]
    assert found.password.get_secret_value() not in given


def test_a_bucket_and_a_topic_come_to_the_tables_that_an_embedded_run_makes_of_them(
    stage: Stage, api: httpx.Client, tmp_path: Path
) -> None:
    given = stage.environment("airflow-scheduler")
    server = S3Store(
        "deliveries",
        endpoint=f"http://127.0.0.1:{stage.port('s3', 9000)}",
        region="us-east-1",
        access_key_id="tidemill",
        secret_access_key=stage.composition.environ["S3_PASSWORD"],
        client_options={"allow_http": True},
    )
    for day in (1, 2):
        obstore.put(server, f"orders/{day}.csv", write_day(tmp_path / "days", day))
    topic = KafkaClient(f"127.0.0.1:{stage.port('kafka', 9092)}")
    # The events are older than a topic keeps them where nothing is said.
    topic.create_topic("events", partitions=2, retention_ms=-1)
    topic.produce("events", map(event, range(50)))
    for name in ("dags/specs", "spark_jobs/transforms", "expectations/suites"):
        (stage.home / "project" / name).mkdir(parents=True)
    (stage.home / "project" / "dags" / "specs" / "delivered_orders.yaml").write_text(DELIVERED)

    assert run(api, "delivered_orders") == {"success"}
    assert run(api, "events_kafka") == {"success"}
    assert {
        ("tidemill ingest delivered_orders", "FINISHED"),
        ("tidemill ingest events_kafka", "FINISHED"),
    } <= set(ended_on(stage))

    (tmp_path / "root").mkdir()
    connections = {name: value for name, value in given.items() if name.startswith("AIRFLOW_CONN_")}
    variables = {
        **connections,
        "TIDEMILL_ROOT": str(tmp_path / "root"),
        "TIDEMILL_MASTER": "local[2]",
        "TIDEMILL_INPUT": str(tmp_path),
        "TIDEMILL_PROJECTS": given["TIDEMILL_PROJECTS"],
    }
    for name in ("delivered_orders", "events_kafka"):
        tidemill("run", name, environ={**os.environ, **variables})
        there, here = (rows_of(root / name) for root in (stage.home / "root", tmp_path / "root"))
        assert there == here
        assert len(there[0]) >= 50


def test_with_celery_a_run_publishes_to_the_warehouse_what_an_embedded_one_does(
    stage: Stage, api: httpx.Client, tmp_path: Path
) -> None:
    changed = {"AIRFLOW_EXECUTOR": "CeleryExecutor", "STATSD_ON": "True"}
    composition = Composition({**stage.composition.environ, **changed}, ["celery", "monitoring"])
    actions = stage.home / "input" / "actions"
    actions.mkdir()
    lines = [
        {"time": f"2026-03-01T{at % 7:02}:30:00Z", "action": ACTIONS[at % 3]} for at in range(99)
    ]
    (actions / "001.json").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with StatsdReceiver(stage.port("statsd-exporter", 9125)) as metrics:
        stage.change(composition, again=["airflow-scheduler"])
        assert run(api, "actions_per_hour") == {"success"}
    assert "airflow-worker" in stage.healthy
    assert ("tidemill ingest actions_per_hour", "FINISHED") in ended_on(stage)
    found = [line for line in metrics.lines if line.startswith("airflow.tidemill.rows_in,")]
    assert [line for line in found if "pipeline=actions_per_hour" in line]

    given = stage.environment("airflow-worker")
    with warehouse(stage, "warehouse") as connected:
        connected.execute("CREATE DATABASE embedded")
    (tmp_path / "root").mkdir()
    server = given["AIRFLOW_CONN_WAREHOUSE"].removesuffix("/warehouse")
    variables = {
        "TIDEMILL_ROOT": str(tmp_path / "root"),
        "TIDEMILL_MASTER": "local[2]",
        "TIDEMILL_ACTIONS": given["TIDEMILL_ACTIONS"],
        "AIRFLOW_CONN_WAREHOUSE": f"{server}/embedded",
    }
    tidemill("run", "actions_per_hour", environ={**os.environ, **variables})
    published = {}
    for database in ("warehouse", "embedded"):
        with warehouse(stage, database) as connected:
            rows = connected.execute(
                "SELECT action, hour, count FROM actions_per_hour ORDER BY 1, 2"
            )
            published[database] = rows.fetchall()
    assert published["warehouse"] == published["embedded"]
    assert sum(count for _, _, count in published["warehouse"]) == len(lines)


def run(api: httpx.Client, name: str) -> set[str]:
    """Let a pipeline's DAG run, and give how the tasks of its first run ended."""
    wait_for(lambda: name in dags(api), PATIENCE)
    dag = f"/api/v2/dags/{name}"
    assert api.patch(dag, json={"is_paused": False}).status_code == 200
    # A second one may have begun by then, where the schedule is short.
    first = f"{dag}/dagRuns?order_by=run_after&limit=1"
    wait_for(lambda: states(api, first, "dag_runs") & ENDED, PATIENCE)
    (ran,) = api.get(first).json()["dag_runs"]
    tasks = f"{dag}/dagRuns/{ran['dag_run_id']}/taskInstances"
    ended = states(api, tasks, "task_instances")
    assert api.patch(dag, json={"is_paused": True}).status_code == 200
    return ended


def event(number: int) -> Record:
    """A visitor's event, as the topic of `events_kafka` has it, on its way for a second."""
    at = datetime(2026, 3, 1, 0, number, tzinfo=UTC)
    fields = {"event_id": f"{number:08x}", "visitor": "v", "action": "view", "product": "mug"}
    value = json.dumps({**fields, "price": "6.20", "at": f"{at:%Y-%m-%dT%H:%M:%SZ}"})
    arrived = int(at.timestamp() * 1000) + 1000
    return Record(None, value, timestamp_ms=arrived, partition=number % 2)


def rows_of(home: Path) -> tuple[list[str], int]:
    """The published rows in an order, and how many were rejected."""
    published = DeltaTable(home / "table").to_pyarrow_table().to_pylist()
    bad = home / "rejected"
    return sorted(map(repr, published)), len(
        DeltaTable(bad).to_pyarrow_table() if bad.is_dir() else ()
    )


def warehouse(stage: Stage, database: str) -> psycopg.Connection[Any]:
    """A session with a database of the warehouse's server, as the connection of the name says."""
    found = connection("warehouse", stage.environment("airflow-scheduler"))
    assert found.password is not None
    return psycopg.connect(
        host=found.host,
        port=found.port,
        user=found.login,
        password=found.password.get_secret_value(),
        dbname=database,
        autocommit=True,
    )


def dags(api: httpx.Client) -> set[str]:
    """The pipelines that the DAG processor has found."""
    return {dag["dag_id"] for dag in api.get("/api/v2/dags?limit=100").json()["dags"]}


def states(api: httpx.Client, path: str, what: str) -> set[str]:
    """The states of runs or tasks."""
    return {found["state"] for found in api.get(path).json()[what]}


def masters_view(stage: Stage) -> Any:
    """What Spark's master says of its workers and applications."""
    return httpx.get(f"http://127.0.0.1:{stage.port('spark-master', 8080)}/json/").json()


def ended_on(stage: Stage) -> list[tuple[str, str]]:
    """Name and state of each application of the past, once none is at work."""
    ended = ended_applications(lambda: masters_view(stage))
    return [(app["name"], app["state"]) for app in ended]
