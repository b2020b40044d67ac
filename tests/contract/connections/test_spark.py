"""A Spark connection: the master, and what a driver without spark-submit makes of the extra."""

from __future__ import annotations

import json

import pytest

from tidemill.contract.connections.airflow import Connection, connection
from tidemill.contract.connections.spark import (
    AUTHENTICATED,
    SECRET,
    SECRET_VARIABLE,
    ConnectionNeedsSubmit,
    DeployModeRefused,
    SecretsCannotReachDriver,
    driver_settings,
    master_of,
    references,
    secret_settings,
    secrets_of,
)


def named(text: str) -> Connection:
    return connection("mill", {"AIRFLOW_CONN_MILL": text})


def with_extra(host: str, **extra: str) -> Connection:
    return named(json.dumps({"conn_type": "spark", "host": host, "extra": extra}))


@pytest.mark.parametrize(
    ("text", "master"),
    [
        ("spark://tide:7077", "spark://tide:7077"),
        ('{"conn_type": "spark", "host": "spark://tide:7077"}', "spark://tide:7077"),
        ('{"conn_type": "spark", "host": "spark://tide", "port": 7077}', "spark://tide:7077"),
        ('{"conn_type": "spark", "host": "tide", "port": 7077}', "spark://tide:7077"),
        ('{"conn_type": "spark", "host": "local[3]"}', "local[3]"),
        ('{"conn_type": "spark", "host": "yarn"}', "yarn"),
        (
            '{"conn_type": "spark", "host": "k8s://https://api", "port": 6443}',
            "k8s://https://api:6443",
        ),
    ],
)
def test_the_master_is_the_one_that_airflows_provider_would_take(text: str, master: str) -> None:
    assert master_of(named(text)) == master


def test_the_secret_is_a_setting_of_the_driver_and_of_no_command_line() -> None:
    given = with_extra("spark://tide:7077", **{SECRET: "canary"})
    assert driver_settings(given, "mill") == (
        "spark://tide:7077",
        AUTHENTICATED,
        {SECRET: "canary"},
    )
    settings, variables = secret_settings(given.settings)
    assert "canary" not in settings.values()
    assert variables == {SECRET_VARIABLE: "canary"}
    assert secrets_of(variables) == {SECRET: "canary"}
    assert secret_settings({}) == ({}, {})
    assert secrets_of({}) == {}


def test_queue_and_namespace_reach_a_driver_without_spark_submit() -> None:
    given = with_extra(
        "yarn", queue="night", namespace="mills", **{"spark-binary": "spark3-submit"}
    )
    master, settings, _ = driver_settings(given, "mill")
    assert master == "yarn"
    assert settings == {"spark.yarn.queue": "night", "spark.kubernetes.namespace": "mills"}


def test_a_driver_on_a_worker_of_a_standalone_cluster_is_refused() -> None:
    mode = {"deploy-mode": "cluster"}
    with pytest.raises(DeployModeRefused) as refused:
        driver_settings(with_extra("spark://tide:7077", **mode), "mill")
    assert refused.value.data == {"conn_id": "mill"}
    assert driver_settings(with_extra("yarn", **mode), "mill")[0] == "yarn"


def test_a_driver_in_a_pod_needs_a_kubernetes_secret_for_what_is_secret() -> None:
    master, names = "k8s://https://api:6443", ["FEED_TOKEN", "AIRFLOW_CONN_WAREHOUSE"]
    assert references(master, "mill", names, "mill") == {
        f"spark.kubernetes.driver.secretKeyRef.{name}": f"mill:{name}" for name in names
    }
    assert references("yarn", None, [], "mill") == {}
    for place, secret in ((master, None), ("yarn", "mill"), ("yarn", None)):
        with pytest.raises(SecretsCannotReachDriver) as refused:
            references(place, secret, names, "mill")
        assert refused.value.data == {"conn_id": "mill", "variables": sorted(names)}


def test_what_only_spark_submit_can_use_is_named() -> None:
    with pytest.raises(ConnectionNeedsSubmit) as refused:
        driver_settings(with_extra("yarn", keytab="AAAA"), "mill")
    assert refused.value.data == {"conn_id": "mill", "key": "keytab"}
