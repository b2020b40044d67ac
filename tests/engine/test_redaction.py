"""Secrets travel to Spark as options of a source; a plan that is printed must not show them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from spark_jobs.contract.connection import Connection
from spark_jobs.contract.kafka_connection import spark_options
from spark_jobs.contract.session_conf import engine_conf
from tests.specs import minimal, parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm

CANARY = "canary-in-a-mine"
PEM = f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----\n"
REDACTION = "spark.sql.redaction.options.regex"


def plan(spark: SparkSession) -> str:
    """Every plan of a stream with every secret that a connection may hold, as Spark prints them."""
    secrets: dict[str, Any] = {
        "bootstrap.servers": "127.0.0.1:9",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "mill",
        "sasl.password": CANARY,
        "ssl.key.pem": PEM,
        "ssl.certificate.pem": PEM,
        "ssl.key.password": CANARY,
        "kafka.sasl.oauthbearer.header.urlencode": CANARY,
    }
    connection = Connection.model_validate({"conn_type": "kafka"} | {"extra": json.dumps(secrets)})
    options = spark_options(connection)
    assert sum(CANARY in option for option in options.values()) >= 5
    stream = spark.readStream.format("kafka").options(subscribe="orders", **options).load()
    return str(stream._jdf.queryExecution().toString())


def test_no_plan_shows_a_secret_option_of_kafka(spark: SparkSession) -> None:
    spark.conf.set(REDACTION, engine_conf(parse(minimal()))[REDACTION])
    shown = plan(spark)
    assert CANARY not in shown
    assert "kafka.bootstrap.servers=127.0.0.1:9" in shown


def test_without_our_setting_spark_shows_a_private_key(spark: SparkSession) -> None:
    spark.conf.unset(REDACTION)
    assert CANARY in plan(spark)
