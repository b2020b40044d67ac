"""A pipeline with secrets, for the tests of how they travel."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest
from airflow.providers.apache.spark.hooks import spark_submit
from airflow.sdk import Context
from airflow.sdk._shared.secrets_masker import reset_secrets_masker

from tests.airflow.conftest import NAME
from tests.support.airflow.fake_dag_run import context_of
from tidemill.toolchain.jars import all_sets

PASSWORD = 'pa ss"wo\\rd/ä%40'
EXTRA_SECRET = "nobody-calls-this-a-secret"
KAFKA = {
    "conn_type": "kafka",
    "login": "mill",
    "password": PASSWORD,
    "extra": {
        "bootstrap.servers": "broker.example:9092",
        "odd.name": [{"deep": EXTRA_SECRET}, 4711815],
    },
}
POSTGRES = {"conn_type": "postgres", "host": "db.example", "login": "mill", "password": "canary-pg"}
TOKEN = "canary-token"
SPEC = """
env: {FEED_TOKEN: null}
sources:
  orders:
    kind: kafka
    subscribe: orders
    value: {format: json, schema: "id string, at timestamp"}
publish: [{kind: delta}, {kind: postgres, conn_id: warehouse, table: orders}]
"""


@pytest.fixture
def context() -> Context:
    return context_of(outlet_events=defaultdict(object))


@pytest.fixture
def secret_spec(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small project's pipeline with a token, a broker and a database, all of them there."""
    jars = tmp_path / "jars"
    jars.mkdir()
    for jar in all_sets()["kafka"]:
        (jars / jar.name).touch()
    monkeypatch.setenv("TIDEMILL_JARS", str(jars))
    reset_secrets_masker()
    # A hook of Airflow's Kubernetes provider, which these tests do without.
    monkeypatch.setattr(spark_submit, "kube_client", object(), raising=False)
    spec = project / "dags" / "specs" / f"{NAME}.yaml"
    spec.write_text(SPEC)
    monkeypatch.setenv("FEED_TOKEN", TOKEN)
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", json.dumps(KAFKA))
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps(POSTGRES))
    return spec
