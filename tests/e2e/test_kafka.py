"""Kafka to a published table: what was produced is published, once, whatever happens between."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.servers.kafka import Broker
from tests.support.pipelines.kafka_pipeline import KafkaPipeline, order
from tidemill.contract.log import Log
from tidemill.contract.report import Outcome, Report
from tidemill.main import step_function
from tidemill.steps.parts.run import perform
from tidemill.storage.run_context import RunContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Make = Callable[..., KafkaPipeline]


@pytest.fixture
def make(
    tmp_path: Path, broker: Broker, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Make:
    """A pipeline on a topic of its own, whose connection is in the environment."""

    def call(broker: Broker = broker, **given: Any) -> KafkaPipeline:
        mill = KafkaPipeline(tmp_path, broker, **given)
        name = "AIRFLOW_CONN_TIDEMILL_KAFKA"
        monkeypatch.setenv(name, mill.environ[name])
        return mill

    return call


@pytest.fixture
def own_broker() -> Iterator[Broker]:
    """One that a test may stop."""
    with Broker() as broker:
        yield broker


# Spark gives up within seconds, and not within minutes.
IMPATIENT = {
    "fetchOffset.numRetries": 1,
    "fetchOffset.retryIntervalMs": 100,
    "kafkaConsumer.pollTimeoutMs": 2000,
    "kafka.default.api.timeout.ms": 2000,
    "kafka.request.timeout.ms": 1500,
}


def ingest(mill: KafkaPipeline, run_id: str, log: Log) -> Report:
    """One ingest that says what it does."""
    return perform("ingest", step_function("ingest"), RunContext(mill.pipeline, run_id, log))


def at_the_first_batch(act: Callable[[], None]) -> Callable[[str], None]:
    """Something that happens once, as soon as a batch is committed."""
    done: list[str] = []

    def log(line: str) -> None:
        if line.startswith("batch 0") and not done:
            done.append(line)
            act()

    return log


def test_what_is_produced_is_published_once_over_several_runs(make: Make) -> None:
    source = {"maxOffsetsPerTrigger": 8, "include": ["key", "partition", "offset"]}
    mill = make(source={**source, "commit_to_group": "mill"}, partitions=3)
    mill.produce_orders(0, 20)
    mill.produce(["nope", None, '{"id":"x","quantity":"many"}'])
    first = mill.run("first")
    assert first["publish"].outcome is Outcome.DONE
    assert first["ingest"].facts["rows"] == 20
    assert first["ingest"].facts["rejected"] == 3
    assert len(first["ingest"].facts["batches"]) >= 3
    mill.produce_orders(20, 5)
    second = mill.run("second")
    assert second["ingest"].facts["rows_in"] == [5]
    assert mill.run("third")["doctor"].outcome is Outcome.SKIPPED

    mill.assert_orders(25)
    ends = {partition: end for partition, (_, end) in mill.broker.offsets(mill.topic).items()}
    assert mill.broker.committed("mill", mill.topic) == ends
    places = Counter((row["partition"], row["offset"]) for row in mill.rows())
    held = {
        (message.partition(), message.offset()): (message.key(), message.value())
        for message in mill.broker.records(mill.topic)
    }
    assert set(places.values()) == {1}
    for row in mill.rows():
        key, value = held[row["partition"], row["offset"]]
        assert (row["key"].encode(), row["id"]) == (key, json.loads(value)["id"])
    rejected = {row["file"]: (row["reason"], row["record"]) for row in mill.rejected_rows()}
    bad = {
        f"kafka:{mill.topic}/{partition}/{offset}": ("malformed", record(key, value))
        for (partition, offset), (key, value) in held.items()
        if (partition, offset) not in places
    }
    assert rejected == bad


def record(key: bytes, value: bytes | None) -> str:
    """What is kept of a record that is rejected."""
    return value.decode() if value is not None else f'{{"key":"{key.decode()}","value":null}}'


def test_headers_and_times_of_records_are_published(make: Make) -> None:
    mill = make(source={"include": {"headers": "headers", "timestamp": "produced"}}, partitions=1)
    mill.produce([order(0)], headers=[("trace", b"\x01")], timestamp_ms=1_772_000_000_123)
    assert mill.run("r")["publish"].outcome is Outcome.DONE
    (row,) = mill.rows()
    assert row["headers"] == [{"key": "trace", "value": b"\x01"}]
    assert row["produced"].timestamp() == 1_772_000_000.123


def test_latest_begins_at_the_first_run_even_if_that_finds_nothing(make: Make) -> None:
    mill = make(source={"startingOffsets": "latest"})
    mill.produce_orders(0, 5)
    assert mill.run("first")["ingest"].outcome is Outcome.DONE
    mill.produce_orders(5, 4)
    assert mill.run("second")["publish"].outcome is Outcome.DONE
    mill.assert_orders(9, first=5)


def test_a_broker_that_stops_in_a_run_ends_it_and_nothing_is_lost(
    make: Make, own_broker: Broker
) -> None:
    source = {"maxOffsetsPerTrigger": 10, "options": IMPATIENT}
    mill = make(own_broker, source=source, partitions=1)
    mill.produce_orders(0, 60)
    stopped = ingest(mill, "cut", at_the_first_batch(own_broker.stop))
    assert stopped.outcome is Outcome.FAILED
    assert stopped.transient
    assert stopped.error is not None
    assert stopped.error["code"] == "BrokerUnreachable"
    again = mill.run("nobody-there")
    assert [*again] == ["doctor"]
    assert again["doctor"].error is not None
    assert again["doctor"].error["code"] == "BrokerUnreachable"

    own_broker.start()
    assert mill.run("after")["publish"].outcome is Outcome.DONE
    mill.assert_orders(60)


def test_partitions_added_between_runs_and_during_one_are_read_from_their_beginning(
    make: Make,
) -> None:
    mill = make(source={"maxOffsetsPerTrigger": 5}, partitions=1)
    mill.produce_orders(0, 20)

    def add() -> None:
        mill.broker.add_partitions(mill.topic, 2)
        mill.produce_orders(20, 5, partition=1)

    during = ingest(mill, "during", at_the_first_batch(add))
    # Spark takes the partitions that were there when the run began, or asks for another try.
    assert during.outcome is Outcome.DONE or during.transient
    assert mill.run("second")["publish"].outcome is Outcome.DONE
    mill.assert_orders(25)
    mill.broker.add_partitions(mill.topic, 3)
    mill.produce_orders(25, 5, partition=2)
    assert mill.run("third")["publish"].outcome is Outcome.DONE
    mill.assert_orders(30)


def test_a_topic_made_anew_is_refused_and_nothing_of_it_is_published(make: Make) -> None:
    mill = make(partitions=1)
    mill.produce_orders(0, 4)
    mill.run("first")
    mill.broker.delete_topic(mill.topic)
    gone = mill.run("gone")["doctor"]
    assert gone.error is not None
    assert (gone.outcome, gone.error["code"]) == (Outcome.REFUSED, "TopicMissing")
    mill.broker.create_topic(mill.topic, 1)
    mill.produce_orders(100, 9)
    anew = mill.run("anew")["doctor"]
    assert anew.error is not None
    assert (anew.outcome, anew.error["code"]) == (Outcome.REFUSED, "TopicRecreated")
    # Without the doctor too.
    direct = ingest(mill, "direct", lambda _: None)
    assert direct.error is not None
    assert direct.error["code"] == "TopicRecreated"
    mill.assert_orders(4)


def test_a_topic_made_anew_during_a_run_ends_it_before_the_gate(make: Make) -> None:
    mill = make(source={"maxOffsetsPerTrigger": 2}, partitions=1)
    mill.produce_orders(0, 20)

    def make_anew() -> None:
        mill.broker.delete_topic(mill.topic)
        mill.broker.create_topic(mill.topic, 1)
        mill.produce_orders(100, 30)

    report = ingest(mill, "cut", at_the_first_batch(make_anew))
    assert report.error is not None
    assert report.error["code"] == "TopicRecreated"


def test_a_password_works_and_lies_nowhere(make: Make, broker: Broker, tmp_path: Path) -> None:
    login = {
        "bootstrap.servers": broker.sasl_ssl_bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": broker.user,
        "sasl.password": broker.password,
        "ssl.ca.location": str(broker.trusted),
    }
    mill = make(connection=login)
    mill.produce_orders(0, 3)
    assert mill.run("r")["publish"].outcome is Outcome.DONE
    mill.assert_orders(3)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) > 20
    assert [f for f in files if broker.password.encode() in f.read_bytes()] == []
    wrong = make(topic=mill.topic, connection={**login, "sasl.password": "wrong"})
    refused = wrong.run("wrong")["doctor"]
    assert refused.error is not None
    assert refused.error["code"] == "BrokerRefuses"
