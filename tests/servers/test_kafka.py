"""The broker of the tests: what it promises to them."""

from __future__ import annotations

import stat
import uuid
from pathlib import Path

import psutil
import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro

from tests.servers.kafka import Broker
from tests.servers.kafka_client import Record
from tests.support.processes import child, wait_for

OWNER = """
import time
from tests.servers.kafka import Broker
broker = Broker()
broker.start()
print(broker.pid, broker.home, flush=True)
time.sleep(600)
"""


@pytest.fixture
def topic(broker: Broker) -> str:
    """A name that no other test has."""
    return f"topic-{uuid.uuid4().hex}"


def test_records_come_back_with_all_that_they_have(broker: Broker, topic: str) -> None:
    broker.create_topic(topic, partitions=2)
    record = Record("key", "value", [("trace", b"1")], timestamp_ms=5000, partition=1)
    broker.produce(topic, [record, Record(None, None, partition=1)])
    first, second = broker.records(topic)
    assert (first.key(), first.value(), first.headers()) == (b"key", b"value", [("trace", b"1")])
    assert (first.timestamp()[1], first.partition(), first.offset()) == (5000, 1, 0)
    assert (second.key(), second.value(), second.offset()) == (None, None, 1)
    assert broker.offsets(topic) == {0: (0, 0), 1: (0, 2)}


def test_a_topic_made_again_has_another_id(broker: Broker, topic: str) -> None:
    broker.create_topic(topic)
    before = broker.topic_id(topic)
    broker.delete_topic(topic)
    broker.create_topic(topic)
    assert broker.topic_id(topic) != before


def test_partitions_are_added_and_records_are_deleted(broker: Broker, topic: str) -> None:
    broker.create_topic(topic)
    broker.produce(topic, [Record(None, "a"), Record(None, "b"), Record(None, "c")])
    broker.delete_records(topic, 0, before=2)
    broker.add_partitions(topic, 2)
    assert broker.offsets(topic) == {0: (2, 3), 1: (0, 0)}
    assert [record.value() for record in broker.records(topic)] == [b"c"]


def test_retention_acts_where_a_topic_has_one_and_nowhere_else(broker: Broker, topic: str) -> None:
    broker.create_topic(topic)
    broker.create_topic(f"{topic}-short", retention_ms=1)
    for name in (topic, f"{topic}-short"):
        broker.produce(name, [Record(None, "old", timestamp_ms=1000)])
    wait_for(lambda: broker.offsets(f"{topic}-short") == {0: (1, 1)})
    assert broker.offsets(topic) == {0: (0, 1)}


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_PLAINTEXT", "SSL", "SASL_SSL"])
def test_every_listener_lets_in_whom_it_should(broker: Broker, protocol: str) -> None:
    assert list(AdminClient(broker.settings(protocol)).list_topics(timeout=30).brokers) == [1]


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_a_wrong_password_is_refused(broker: Broker, protocol: str) -> None:
    problems: list[KafkaError] = []
    wrong = {"sasl.password": "wrong", "error_cb": problems.append, "log_level": 0}
    client = AdminClient({**broker.settings(protocol), **wrong})
    wait_for(lambda: client.poll(0.1) and problems)
    assert problems[0].code() == KafkaError._AUTHENTICATION


def test_the_password_is_in_a_file_that_nobody_else_reads_and_on_no_command_line(
    broker: Broker,
) -> None:
    holders = [path for path in broker.home.glob("*.*") if broker.password in path.read_text()]
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in holders} == {
        "server.properties": 0o600
    }
    assert broker.pid
    assert broker.password not in " ".join(psutil.Process(broker.pid).cmdline())


def test_after_an_outage_and_after_a_crash_it_is_where_it_was_with_what_it_had(
    child_jvm: Path,
) -> None:
    with Broker() as broker:
        broker.create_topic("kept")
        broker.produce("kept", [Record(None, "before")])
        broker.stop()
        assert broker.pid is None
        assert not broker.answers()
        broker.start()
        broker.produce("kept", [Record(None, "between")])
        broker.kill()
        broker.start()
        assert [record.value() for record in broker.records("kept")] == [b"before", b"between"]
        home = broker.home
    assert not home.exists()


def test_spark_reads_it_and_writes_to_it_with_avro_values(
    broker: Broker, spark: SparkSession, topic: str
) -> None:
    broker.create_topic(topic)
    options = {"kafka.bootstrap.servers": broker.bootstrap}
    schema = '{"type": "record", "name": "row", "fields": [{"name": "id", "type": "long"}]}'
    rows = spark.range(3).select(to_avro(F.struct("id"), schema).alias("value"))
    rows.write.format("kafka").options(**options, topic=topic).save()
    read = spark.read.format("kafka").options(**options, subscribe=topic).load()
    values = read.select(from_avro("value", schema).alias("row")).select("row.id")
    assert sorted(row.id for row in values.collect()) == [0, 1, 2]
    assert len(broker.records(topic)) == 3


def test_spark_logs_in_over_tls(broker: Broker, spark: SparkSession, topic: str) -> None:
    broker.create_topic(topic)
    broker.produce(topic, [Record(None, "seen")])
    login = (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="{broker.user}" password="{broker.password}";'
    )
    options = {
        "kafka.bootstrap.servers": broker.sasl_ssl_bootstrap,
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": login,
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(broker.trusted),
        "subscribe": topic,
    }
    read = spark.read.format("kafka").options(**options).load()
    assert [bytes(row.value) for row in read.select("value").collect()] == [b"seen"]


def test_it_ends_when_its_owner_is_killed_and_its_data_goes(child_jvm: Path) -> None:
    with child(OWNER) as owner:
        assert owner.stdout is not None
        pid, home = owner.stdout.readline().split()
        assert psutil.pid_exists(int(pid))
        owner.kill()
        wait_for(lambda: not psutil.pid_exists(int(pid)) and not Path(home).exists())
