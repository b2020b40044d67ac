"""A driver in a pod of Kubernetes, which no kill of spark-submit reaches."""

from __future__ import annotations

import json
import threading

import pytest
from airflow.providers.apache.spark.hooks import spark_submit as provider
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException

from tests.airflow.conftest import NAME
from tests.support.airflow.fake_spark_submit import FakeSpark
from tests.support.processes import wait_for
from tidemill_airflow.operators.ingest import IngestOperator

POD = "mill-0123-driver"


@pytest.mark.usefixtures("secret_spec")
def test_a_killed_task_has_its_pod_deleted(
    spark_submit: FakeSpark, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted: list[str | None] = []
    monkeypatch.setattr(
        provider.SparkSubmitHook,
        "_delete_driver_pod",
        lambda hook: deleted.append(hook._kubernetes_driver_pod),
    )
    extra = {"deploy-mode": "cluster", "namespace": "mills", "kubernetes-secret": "mill"}
    connection = {"conn_type": "spark", "host": "k8s://https://cluster.example", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_SPARK", json.dumps(connection))
    spark_submit.says(f"State changed, new state: pod name: {POD}")
    spark_submit.hangs()
    operator = IngestOperator(task_id="ingest", pipeline=NAME, conn_id="tidemill_spark")
    ended: list[BaseException] = []

    def execute() -> None:
        try:
            operator.execute(context)
        except AirflowException as error:
            ended.append(error)

    task = threading.Thread(target=execute, daemon=True)
    task.start()
    wait_for(lambda: operator._hook is not None and bool(operator._hook._kubernetes_driver_pod))
    operator.on_kill()
    task.join(60)
    assert len(ended) == 1
    assert deleted == [POD]
