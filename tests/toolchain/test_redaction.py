"""Secrets travel to Spark as options of a source; a plan that is printed must not show them."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.servers.kafka import Broker
from tests.servers.kafka_client import Record
from tests.support.spec_text import minimal, parse
from tidemill.contract.connections.airflow import Connection
from tidemill.contract.connections.kafka import spark_options
from tidemill.toolchain.spark_conf import engine_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def test_no_plan_shows_a_secret_option_of_a_query_that_reads_and_writes_kafka(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    spark.conf.set(REDACTION, engine_conf(parse(minimal()))[REDACTION])
    extra = {**broker.settings("SASL_PLAINTEXT"), "kafka.ssl.keystore.key": PEM}
    options = spark_options(
        Connection.model_validate({"conn_type": "kafka", "extra": json.dumps(extra)})
    )
    topics = [f"redacted-{uuid.uuid4().hex[:12]}" for _ in range(2)]
    for topic in topics:
        broker.create_topic(topic)
    broker.produce(topics[0], [Record(None, "one")])
    came = spark.readStream.format("kafka").options(subscribe=topics[0], **options)
    query = (
        came.option("startingOffsets", "earliest")
        .load()
        .select("value")
        .writeStream.format("kafka")
        .options(topic=topics[1], checkpointLocation=str(tmp_path), **options)
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    shown = query._jsq.explainInternal(True)
    assert "kafka" in shown.lower()
    assert [message.value() for message in broker.records(topics[1])] == [b"one"]
    for secret in (CANARY, broker.password):
        assert secret not in shown
        assert not any(secret in str(progress) for progress in query.recentProgress)
        assert all(
            secret not in file.read_text(errors="replace")
            for file in tmp_path.rglob("*")
            if file.is_file()
        )


def test_without_our_setting_spark_shows_a_private_key(spark: SparkSession) -> None:
    spark.conf.unset(REDACTION)
    assert CANARY in plan(spark)
