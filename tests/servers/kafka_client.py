"""An administrator's view of a broker: topics, partitions, records, offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from typing import NamedTuple

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.support.processes import wait_for

TIMEOUT = 120.0


class Record(NamedTuple):
    """What is produced; without a partition the key decides, without a timestamp it is now."""

    key: bytes | str | None
    value: bytes | str | None
    headers: Sequence[tuple[str, bytes | str | None]] = ()
    timestamp_ms: int | None = None
    partition: int | None = None


class KafkaClient:
    """Everything that a test does to topics, each call done when it returns.

    Args:
        bootstrap: Where the broker is; it need not be up yet.
    """

    def __init__(self, bootstrap: str) -> None:
        # Otherwise a client waits for up to ten seconds before it tries a broker again.
        self._options = {
            "bootstrap.servers": bootstrap,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
        self._admin = AdminClient(self._options)
        # Idempotent: else a record that is sent again, as to a new topic, comes after later ones.
        idempotent = {"linger.ms": 0, "enable.idempotence": True}
        self._producer = Producer({**self._options, **idempotent})

    def answers(self) -> bool:
        """Whether the broker serves, and leads every partition that it holds."""
        try:
            seen = self._admin.list_topics(timeout=1)
        except KafkaException:
            return False
        partitions = (part for topic in seen.topics.values() for part in topic.partitions.values())
        return bool(seen.brokers) and all(part.leader >= 0 for part in partitions)

    def create_topic(self, name: str, partitions: int = 1, **config: object) -> None:
        """Create a topic, and wait until clients can use it.

        Args:
            name: Its name.
            partitions: How many.
            config: Its settings, with underscores for dots: `retention_ms=1000`.
        """
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=settings)
        _done(self._admin.create_topics([topic]))
        wait_for(lambda: self._serves(name, partitions))

    def delete_topic(self, name: str) -> None:
        """Delete a topic, and wait until it is gone."""
        _done(self._admin.delete_topics([name]))
        wait_for(lambda: name not in self._admin.list_topics(timeout=TIMEOUT).topics)

    def add_partitions(self, topic: str, total: int) -> None:
        """Let a topic have this many partitions, which are more than before."""
        _done(self._admin.create_partitions([NewPartitions(topic, total)]))
        wait_for(lambda: self._serves(topic, total))

    def topic_id(self, topic: str) -> str:
        """The id that a topic keeps for life, and that its namesake after it does not have."""
        described = self._admin.describe_topics(TopicCollection([topic]))
        return str(described[topic].result(TIMEOUT).topic_id)

    def produce(self, topic: str, records: Iterable[Record]) -> None:
        """Write records, in this order within each partition.

        Their offsets are not returned: a record that had to be sent again is reported without one.
        """
        problems: list[object] = []

        def note(problem: object, _: Message) -> None:
            if problem is not None:
                problems.append(problem)

        for record in map(Record._make, records):
            self._producer.produce(
                topic,
                key=record.key,
                value=record.value,
                headers=list(record.headers),
                timestamp=record.timestamp_ms or 0,
                partition=-1 if record.partition is None else record.partition,
                on_delivery=note,
            )
            self._producer.poll(0)
        left = self._producer.flush(TIMEOUT)
        assert (left, problems) == (0, [])

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Let a partition begin at an offset, as retention does in time."""
        _done(self._admin.delete_records([TopicPartition(topic, partition, before)]))

    def offsets(self, topic: str) -> dict[int, tuple[int, int]]:
        """The first offset and the one after the last, by partition."""
        with closing(self._reader()) as reader:
            return {
                partition: reader.get_watermark_offsets(TopicPartition(topic, partition), TIMEOUT)
                for partition in sorted(self._led(topic))
            }

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """The offsets that a consumer group has committed, by partition."""
        asked = self._admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        places = asked[group].result(TIMEOUT).topic_partitions
        return {place.partition: place.offset for place in places if place.topic == topic}

    def records(self, topic: str) -> list[Message]:
        """All that a topic holds now, partition by partition, each by offset."""
        found: list[Message] = []
        with closing(self._reader()) as reader:
            for partition, (first, end) in self.offsets(topic).items():
                here = TopicPartition(topic, partition, OFFSET_BEGINNING)
                reader.assign([here])
                # The last offset may be a transaction's marker, which is never handed out.
                while first < end and reader.position([here])[0].offset < end:
                    message = reader.poll(0.1)
                    if message is not None and message.error() is None:
                        found.append(message)
        return found

    def _reader(self) -> Consumer:
        return Consumer({**self._options, "group.id": "none", "enable.auto.commit": False})

    def _serves(self, topic: str, partitions: int) -> bool:
        """Whether all partitions answer: a leader may be named before it knows that it leads."""
        try:
            return len(self._led(topic)) == len(self.offsets(topic)) == partitions
        except KafkaException:
            return False

    def _led(self, topic: str) -> list[int]:
        """The partitions of a topic that have a leader; none where there is no such topic."""
        seen = self._admin.list_topics(timeout=TIMEOUT).topics.get(topic)
        return [part.id for part in seen.partitions.values() if part.leader >= 0] if seen else []


def _done(futures: Mapping[object, Future[object]]) -> None:
    for future in futures.values():
        future.result(TIMEOUT)
