"""The doctor's view of Kafka topics, against a real broker and without a JVM of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.servers.kafka import Broker
from tests.servers.kafka_client import Record
from tests.servers.ports import free_ports
from tests.support.histories.spark_log_builder import write_commit, write_metadata
from tests.support.pipelines.kafka_pipeline import KafkaPipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.sources.falling_behind import RUNS
from tidemill.sources.kafka import topic_offsets
from tidemill.sources.kafka.broker import Topic
from tidemill.sources.kafka.client import BrokerRefuses, BrokerUnreachable
from tidemill.sources.kafka.lag import Arrivals, record_arrivals
from tidemill.sources.kafka.starting_offsets import StartingOffsetsMisfit
from tidemill.sources.kafka.topics import TopicDropped, TopicMissing, TopicRecreated
from tidemill.sources.kinds import open_source
from tidemill.sources.open_source import OpenSource
from tidemill.sources.probe_result import ProbeResult
from tidemill.spec.sources.base import Rating
from tidemill.spec.sources.kafka import KafkaSource, Offsets
from tidemill.storage.run_context import RunContext

# The broker is a Java process.
HOUR_MS = 3_600_000
Make = Callable[..., KafkaPipeline]


@pytest.fixture
def mill(tmp_path: Path, broker: Broker) -> Make:
    def make(**given: Any) -> KafkaPipeline:
        return KafkaPipeline(tmp_path, broker, **given)

    return make


def opened(mill: KafkaPipeline) -> OpenSource[KafkaSource]:
    return open_source(mill.pipeline, "orders", mill.environ)


def probe_source(mill: KafkaPipeline) -> ProbeResult:
    return opened(mill).probe([])


def read_up_to(mill: KafkaPipeline, *ends: int, batch: int = 0, topic: str | None = None) -> None:
    """A checkpoint that has read each partition of the topic up to an offset."""
    position: Offsets = {topic or mill.topic: dict(enumerate(ends))}
    entry = mill.checkpoint / "offsets" / str(batch)
    entry.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {}}
    entry.write_text(f"v2\n{json.dumps(metadata)}\norders:{json.dumps(position)}")
    write_commit(mill.checkpoint, batch)
    write_metadata(mill.checkpoint)


def codes(found: ProbeResult) -> list[tuple[str, Rating]]:
    return [(problem.error.code, problem.rating) for problem in found.problems]


def now_ms() -> int:
    return int(time.time() * 1000)


def test_what_was_never_read_is_new(mill: Make) -> None:
    orders = mill(partitions=2)
    before = datetime.now(UTC) - timedelta(seconds=1)
    orders.produce_orders(0, 7, partition=0)
    orders.produce_orders(7, 3, partition=1)
    found = probe_source(orders)
    assert (found.new, found.unit, found.problems) == (10, "records", ())
    assert found.backlog_bytes is not None
    assert 500 < found.backlog_bytes < 1000
    assert found.last_arrival is not None
    assert before < found.last_arrival < datetime.now(UTC) + timedelta(seconds=1)
    assert found.facts["lag"] == 10
    assert datetime.fromisoformat(found.facts["oldest_unread"]) <= found.last_arrival
    assert 0 <= found.facts["oldest_unread_seconds"] < 60


def test_an_empty_topic_has_nothing_new(mill: Make) -> None:
    found = probe_source(mill())
    assert (found.new, found.backlog_bytes, found.last_arrival) == (0, 0, None)


def test_what_the_checkpoint_has_committed_is_not_new(mill: Make) -> None:
    orders = mill(partitions=2)
    orders.produce_orders(0, 7, partition=0)
    orders.produce_orders(7, 3, partition=1)
    read_up_to(orders, 5, 3)
    assert probe_source(orders).new == 2


def test_a_batch_that_was_planned_only_is_still_new(mill: Make) -> None:
    orders = mill(partitions=1)
    orders.produce_orders(0, 7)
    read_up_to(orders, 2)
    read_up_to(orders, 6, batch=1)
    (orders.checkpoint / "commits" / "1").unlink()
    assert probe_source(orders).new == 5


def test_where_a_first_query_noted_that_it_begins_is_where_it_begins(mill: Make) -> None:
    orders = mill(partitions=1, source={"startingOffsets": "latest"})
    orders.produce_orders(0, 7)
    noted = orders.checkpoint / "sources" / "orders" / "0"
    noted.parent.mkdir(parents=True)
    noted.write_bytes(b'\0v1\n{"%s":{"0":4}}' % orders.topic.encode())
    assert probe_source(orders).new == 3


def test_only_a_query_can_note_what_latest_means(mill: Make) -> None:
    assert probe_source(mill(source={"startingOffsets": "latest"})).new is None


def test_a_first_query_may_begin_at_a_timestamp(mill: Make) -> None:
    orders = mill(partitions=1, source={"startingTimestamp": 2000})
    orders.produce_orders(0, 3, timestamp_ms=1000)
    orders.produce_orders(3, 4, timestamp_ms=2000)
    assert probe_source(orders).new == 4


@pytest.mark.parametrize("strategy", ["error", "latest"])
def test_a_timestamp_that_no_record_has_is_an_error_or_the_end(mill: Make, strategy: str) -> None:
    begin = {"startingTimestamp": 5000, "startingOffsetsByTimestampStrategy": strategy}
    orders = mill(partitions=1, source=begin)
    orders.produce_orders(0, 3, timestamp_ms=1000)
    if strategy == "latest":
        assert probe_source(orders).new is None
        return
    with pytest.raises(StartingOffsetsMisfit) as error:
        probe_source(orders)
    assert error.value.field == "startingTimestamp"


@pytest.mark.parametrize("ends", [{"0": 0}, {"0": 0, "1": 9}, {"0": 0, "1": 0, "2": 0}])
def test_starting_offsets_that_are_not_the_topics_are_refused(
    mill: Make, ends: dict[str, int]
) -> None:
    orders = mill(partitions=2)
    orders.produce_orders(0, 3, partition=0)
    orders = mill(topic=orders.topic, source={"startingOffsets": {orders.topic: ends}})
    with pytest.raises(StartingOffsetsMisfit) as error:
        probe_source(orders)
    assert error.value.field == "startingOffsets"


def test_a_topic_that_is_not_there_is_refused(mill: Make) -> None:
    with pytest.raises(TopicMissing) as error:
        probe_source(mill(topic="never-made"))
    assert error.value.missing == ["topic 'never-made'"]


def test_an_assigned_partition_that_is_not_there_is_refused(mill: Make) -> None:
    orders = mill(partitions=1)
    orders = mill(topic=orders.topic, source={"assign": {orders.topic: [0, 5]}})
    with pytest.raises(TopicMissing) as error:
        probe_source(orders)
    assert error.value.missing == [f"partition 5 of '{orders.topic}'"]


def test_a_pattern_is_found_anywhere_in_a_name(mill: Make, broker: Broker) -> None:
    orders = mill(partitions=1)
    other = f"x-{orders.topic}-y"
    broker.create_topic(other)
    orders.produce_orders(0, 2)
    broker.produce(other, [Record(None, "{}")])
    assert probe_source(mill(topic="-", source={"subscribePattern": f"{orders.topic}"})).new == 3
    assert probe_source(mill(topic="-", source={"subscribePattern": f"^{orders.topic}$"})).new == 2


def test_a_topic_made_anew_is_refused_even_where_its_offsets_fit(mill: Make) -> None:
    orders = mill(partitions=1)
    orders.produce_orders(0, 4)
    found = probe_source(orders)
    with RunContext(orders.pipeline, "first", lambda _: None).hold("ingest") as run:
        opened(orders).record_query(run, found)
    read_up_to(orders, 4)
    orders.broker.delete_topic(orders.topic)
    orders.broker.create_topic(orders.topic, 1)
    orders.produce_orders(100, 9)
    with pytest.raises(TopicRecreated) as error:
        probe_source(orders)
    assert error.value.recorded == found.today[orders.topic].id
    assert error.value.found == orders.broker.topic_id(orders.topic)


def test_a_topic_that_was_read_and_left_the_spec_is_refused(mill: Make) -> None:
    orders = mill(partitions=1)
    read_up_to(orders, 0, topic="formerly")
    with pytest.raises(TopicDropped) as error:
        probe_source(orders)
    assert error.value.dropped == ["formerly/0"]


def test_records_that_expired_are_refused_with_their_range(mill: Make) -> None:
    orders = mill(partitions=2)
    orders.produce_orders(0, 10, partition=0)
    orders.produce_orders(10, 10, partition=1)
    read_up_to(orders, 3, 10)
    orders.broker.delete_records(orders.topic, 0, 8)
    found = probe_source(orders)
    assert codes(found) == [("RecordsExpired", Rating.HOLD)]
    (problem,) = found.problems
    gone = {"topic": orders.topic, "partition": 0, "first": 3, "until": 8}
    assert problem.error.ranges == [gone]
    assert problem.error.records == 5
    assert found.new == 2


def test_where_data_loss_is_no_failure_it_is_a_warning(mill: Make) -> None:
    orders = mill(partitions=1, source={"failOnDataLoss": False})
    orders.produce_orders(0, 10)
    read_up_to(orders, 3)
    orders.broker.delete_records(orders.topic, 0, 8)
    assert codes(probe_source(orders)) == [("RecordsExpired", Rating.WARN)]


def test_a_partition_that_was_added_is_read_from_its_beginning(mill: Make) -> None:
    orders = mill(partitions=1)
    orders.produce_orders(0, 2)
    read_up_to(orders, 2)
    orders.broker.add_partitions(orders.topic, 2)
    orders.produce_orders(2, 5, partition=1)
    assert probe_source(orders).new == 5
    # What expired before it was ever seen is lost all the same; Spark says so too.
    orders.broker.delete_records(orders.topic, 1, 4)
    (problem,) = probe_source(orders).problems
    assert problem.error.ranges == [{"topic": orders.topic, "partition": 1, "first": 0, "until": 4}]


def test_a_partition_that_ends_before_what_was_read_is_refused(mill: Make) -> None:
    orders = mill(partitions=1)
    orders.produce_orders(0, 2)
    read_up_to(orders, 7)
    found = probe_source(orders)
    assert codes(found) == [("PartitionShrunk", Rating.HOLD)]
    assert found.problems[0].error.partitions == [
        {"topic": orders.topic, "partition": 0, "first": 2, "until": 7}
    ]


@pytest.mark.parametrize(
    ("policy", "rating"), [("compact", None), ("compact,delete", "warn"), ("delete", None)]
)
def test_a_compacted_topic_is_refused_unless_the_spec_says_otherwise(
    mill: Make, policy: str, rating: str | None
) -> None:
    source = {"compacted": rating} if rating else {}
    found = probe_source(mill(source=source, cleanup_policy=policy))
    if policy == "delete":
        assert codes(found) == []
    else:
        assert codes(found) == [("TopicCompacted", Rating(rating or "hold"))]


def test_a_compacted_topic_is_a_warning_where_nothing_is_published(mill: Make) -> None:
    orders = mill(cleanup_policy="compact")
    spec = {**orders.spec, "sink": {"kind": "console"}}
    del spec["gate"], spec["output"]
    orders.write_spec(spec)
    assert codes(probe_source(orders)) == [("TopicCompacted", Rating.WARN)]


@pytest.mark.parametrize("rating", ["warn", "hold"])
def test_a_source_that_falls_behind_is_rated(mill: Make, rating: str) -> None:
    orders = mill(partitions=1, source={"falling_behind": rating})
    orders.produce_orders(0, 100)
    read_up_to(orders, 20)
    for number in range(RUNS):
        seen = Arrivals(
            at=datetime.now(UTC) - timedelta(hours=RUNS - number),
            ends={orders.topic: {0: 20 + 10 * number}},
            position={orders.topic: {0: 5 * number}},
            epoch=number,
        )
        assert codes(probe_source(orders)) == []
        record_arrivals(orders.layout, FIRST_GENERATION, "orders", seen)
    found = probe_source(orders)
    assert codes(found) == [("FallingBehind", Rating(rating))]
    assert found.problems[0].error.lag == 80


def test_unread_records_are_said_when_half_of_their_time_is_over(mill: Make) -> None:
    orders = mill(partitions=1, retention_ms=10 * HOUR_MS)
    orders.produce_orders(0, 1, timestamp_ms=now_ms() - 4 * HOUR_MS)
    assert codes(probe_source(orders)) == []
    orders.produce_orders(1, 1, timestamp_ms=now_ms() - 6 * HOUR_MS)
    read_up_to(orders, 1)
    assert codes(probe_source(orders)) == [("RecordsNearExpiry", Rating.WARN)]


def test_records_of_an_open_transaction_are_not_new_to_who_reads_committed(
    mill: Make, broker: Broker
) -> None:
    from confluent_kafka import Producer

    orders = mill(partitions=1, source={"options": {"kafka.isolation.level": "read_committed"}})
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap, "transactional.id": orders.topic, "log_level": 0}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(orders.topic, b"{}")
    producer.flush(30)
    assert probe_source(orders).new == 0
    producer.commit_transaction(30)
    # The transaction's end takes an offset of its own.
    assert probe_source(orders).new == 2


def test_a_broker_that_does_not_answer_is_said_at_once(mill: Make) -> None:
    (port,) = free_ports(1)
    orders = mill(topic="any", connection={"bootstrap.servers": f"127.0.0.1:{port}"})
    with pytest.raises(BrokerUnreachable) as error:
        probe_source(orders)
    assert error.value.servers == f"127.0.0.1:{port}"


def test_a_wrong_password_is_no_unreachable_broker(mill: Make, broker: Broker) -> None:
    login = {
        "bootstrap.servers": broker.sasl_bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": broker.user,
    }
    with pytest.raises(BrokerRefuses) as error:
        probe_source(mill(connection={**login, "sasl.password": "wrong-one"}))
    assert "wrong-one" not in str(error.value)
    assert probe_source(mill(connection={**login, "sasl.password": broker.password})).new == 0


def test_a_topic_of_a_broker_without_ids_is_said_to_be_unprotected(
    mill: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = mill()
    today = topic_offsets.topics_today

    def without_ids(*given: Any) -> dict[str, Topic]:
        return {name: replace(topic, id=None) for name, topic in today(*given).items()}

    monkeypatch.setattr(topic_offsets, "topics_today", without_ids)
    assert codes(probe_source(orders)) == [("TopicUnprotected", Rating.WARN)]
