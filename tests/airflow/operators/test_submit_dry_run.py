"""What spark-submit makes of the commands for Kubernetes and YARN, by Spark's own code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from airflow.sdk import Context
from pyspark.sql import SparkSession

from tests.airflow.conftest import NAME
from tests.airflow.operators.conftest import TOKEN
from tests.support.airflow.dry_submit import DrySubmit, Submission
from tests.support.airflow.fake_spark_submit import FakeSpark
from tests.support.airflow.fake_step import report_of
from tidemill.contract.project import REPOSITORY
from tidemill.contract.report import Outcome
from tidemill.toolchain.engine_environment import APPLICATION
from tidemill_airflow.operators.ingest import IngestOperator

PAGE = REPOSITORY / "docs" / "operations" / "on-a-cluster.md"
KUBERNETES = "k8s://https://cluster.example"
SECRETS = {"AIRFLOW_CONN_TIDEMILL_KAFKA", "AIRFLOW_CONN_WAREHOUSE", "FEED_TOKEN"}
STEP = ("ingest", NAME, "--run-id=run-1")


@pytest.fixture
def dry(spark: SparkSession) -> DrySubmit:
    return DrySubmit(spark)


@pytest.fixture
def as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`SPARK_CONF_DIR` with the page's settings and its pod template."""
    template = tmp_path / "pod.yaml"
    template.write_text(block("yaml"))
    settings = block("properties").replace("/etc/spark/pod.yaml", str(template))
    (tmp_path / "spark-defaults.conf").write_text(settings)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))


def block(language: str) -> str:
    """The page's only block of a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return str(found)


def submitted(
    dry: DrySubmit,
    fake: FakeSpark,
    context: Context,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    **extra: str,
) -> Submission:
    """What the command of an ingest comes to."""
    connection = {"conn_type": "spark", "host": host, "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_SPARK", json.dumps(connection))
    fake.leaves(report_of("ingest", Outcome.DONE))
    IngestOperator(task_id="ingest", pipeline=NAME, conn_id="tidemill_spark").execute(context)
    called = fake.call
    return dry.submission(called["argv"], called["env"])


def variables(pod: dict[str, Any]) -> dict[str, Any]:
    """The variables of a pod's first container: text, or where it comes from."""
    given = pod["spec"]["containers"][0]["env"]
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in given}


@pytest.mark.usefixtures("secret_spec")
def test_on_yarn_the_driver_runs_under_its_task_and_the_queue_is_the_connections(
    dry: DrySubmit, spark_submit: FakeSpark, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    found = submitted(dry, spark_submit, context, monkeypatch, "yarn", queue="night")
    assert found.main_class == "org.apache.spark.deploy.PythonRunner"
    assert found.arguments == (f"file:{APPLICATION}", None, *STEP)
    assert found.conf["spark.master"] == "yarn"
    assert found.conf["spark.yarn.queue"] == "night"
    assert not any(TOKEN in value for value in found.conf.values())


@pytest.mark.usefixtures("secret_spec", "as_the_page_says")
def test_on_kubernetes_executors_have_root_and_image_and_no_secret(
    dry: DrySubmit, spark_submit: FakeSpark, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = {"spark.authenticate.secret": "canary-cluster"}
    found = submitted(
        dry, spark_submit, context, monkeypatch, KUBERNETES, namespace="mills", **secret
    )
    assert found.main_class == "org.apache.spark.deploy.PythonRunner"
    assert found.arguments == (f"file:{APPLICATION}", None, *STEP)
    assert found.conf["spark.kubernetes.namespace"] == "mills"
    pod = dry.executor_pod(found)
    container = pod["spec"]["containers"][0]
    assert container["image"] == found.conf["spark.kubernetes.container.image"]
    assert [one["mountPath"] for one in container["volumeMounts"] if one["name"] == "root"] == [
        "/data/root"
    ]
    assert variables(pod)["TZ"] == "UTC"
    # Spark makes a secret of its own for each application.
    assert len(variables(pod)["_SPARK_AUTH_SECRET"]) >= 32
    assert_as_the_template_says(pod)
    assert not re.search(rf"canary|{TOKEN}|AIRFLOW_CONN", json.dumps(pod))


@pytest.mark.usefixtures("secret_spec", "as_the_page_says")
def test_a_driver_in_a_pod_takes_its_secrets_from_a_kubernetes_secret(
    dry: DrySubmit, spark_submit: FakeSpark, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = {"deploy-mode": "cluster", "namespace": "mills", "kubernetes-secret": "mill"}
    found = submitted(dry, spark_submit, context, monkeypatch, KUBERNETES, **extra)
    assert found.main_class == "org.apache.spark.deploy.k8s.submit.KubernetesClientApplication"
    pod = dry.driver_pod(found)
    container = pod["spec"]["containers"][0]
    assert container["args"][-4:] == [f"local://{APPLICATION}", *STEP]
    named = {name: one for name, one in variables(pod).items() if name in SECRETS}
    assert named == {name: {"secretKeyRef": {"name": "mill", "key": name}} for name in SECRETS}
    for name in ("TIDEMILL_ROOT", "TIDEMILL_PROJECTS", "PYSPARK_PYTHON"):
        assert variables(pod)[name] == spark_submit.call["env"][name]
    assert any(one["mountPath"] == "/data/root" for one in container["volumeMounts"])
    assert pod["spec"]["serviceAccountName"] == "tidemill"
    assert all(jar.startswith("local:///") for jar in found.conf["spark.jars"].split(","))
    assert_as_the_template_says(pod)
    command = spark_submit.call["argv"]
    assert not any(re.search(rf"canary|{TOKEN}", word) for word in command)
    assert not re.search(rf"canary|{TOKEN}", json.dumps(pod))


def assert_as_the_template_says(pod: dict[str, Any]) -> None:
    """Nothing that the page's template has is lost on the way."""
    template = yaml.safe_load(block("yaml"))
    (container,) = template["spec"].pop("containers")
    assert pod["metadata"]["labels"].items() >= template["metadata"]["labels"].items()
    assert pod["spec"].items() >= template["spec"].items()
    built = pod["spec"]["containers"][0]
    assert built["securityContext"] == container["securityContext"]
    assert built["resources"]["limits"].items() >= container["resources"]["limits"].items()
