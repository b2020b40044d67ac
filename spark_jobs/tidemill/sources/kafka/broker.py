"""A Kafka broker, asked without a JVM: topics and offsets, each answer within a time limit."""

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    OffsetSpec,
    ResourceType,
)

from tidemill.contract.connections.airflow import Connection
from tidemill.contract.connections.kafka import client_config
from tidemill.sources.kafka.client import BrokerRefuses, BrokerUnreachable, open_client, translated
from tidemill.spec.sources.kafka import Offsets

LIMIT_SECONDS = 5.0
PATIENCE_SECONDS = 0.5
INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
Result = TypeVar("Result")


@dataclass(frozen=True)
class Topic:
    """A topic as the broker describes it.

    Args:
        id: The topic's id, which changes if the topic is created again; None from old brokers.
        cleanup_policy: `delete`, `compact`, or both; empty where the login may not see it.
        retention_ms: After which a record may be deleted; None for never, or where unknown.
    """

    name: str
    id: str | None
    partitions: tuple[int, ...]
    cleanup_policy: tuple[str, ...]
    retention_ms: int | None


class Broker:
    """The brokers of one connection. Every method raises `BrokerUnreachable` or `BrokerRefuses`.

    Args:
        reads_committed: Whether an open transaction ends what there is to read.

    Raises:
        KafkaSettingRefused: librdkafka does not take the connection.
    """

    def __init__(self, connection: Connection, *, reads_committed: bool = False) -> None:
        self._said: list[KafkaError] = []
        self._admin = open_client(AdminClient, connection, self._said.append)
        self._servers = str(client_config(connection)["bootstrap.servers"])
        self._level = (
            IsolationLevel.READ_COMMITTED if reads_committed else IsolationLevel.READ_UNCOMMITTED
        )

    def names(self) -> frozenset[str]:
        """Every topic but Kafka's own."""
        give_up = time.monotonic() + LIMIT_SECONDS
        while True:
            try:
                found = self._asked(lambda: self._admin.list_topics(timeout=PATIENCE_SECONDS))
            except BrokerUnreachable:
                # In slices: a client reports a refused login only as a missing answer.
                if time.monotonic() > give_up:
                    raise
            else:
                return frozenset(found.topics) - INTERNAL

    def topics(self, names: Iterable[str]) -> dict[str, Topic]:
        """The topics that exist, by name."""
        wanted = sorted(set(names) & self.names())
        if not wanted:
            return {}
        described = self._admin.describe_topics(
            TopicCollection(wanted), request_timeout=LIMIT_SECONDS
        )
        resources = {name: ConfigResource(ResourceType.TOPIC, name) for name in wanted}
        configs = self._admin.describe_configs([*resources.values()], request_timeout=LIMIT_SECONDS)
        return {
            name: self._topic(name, described[name], configs[resources[name]]) for name in wanted
        }

    def offsets(
        self, partitions: Mapping[str, Iterable[int]], which: Literal["earliest", "latest"]
    ) -> Offsets:
        """The first offset of each partition, or the one after its last."""
        spec = OffsetSpec.earliest() if which == "earliest" else OffsetSpec.latest()  # type: ignore[no-untyped-call]
        return _by_topic(self._listed(dict.fromkeys(_flat(partitions), spec), "offset"))

    def offsets_at(self, times: Mapping[str, Mapping[int, int]]) -> Offsets:
        """The first offset as young as a partition's timestamp (ms); -1 where there is none."""
        asked = {
            TopicPartition(topic, partition): OffsetSpec.for_timestamp(time_ms)
            for topic, by_partition in times.items()
            for partition, time_ms in by_partition.items()
        }
        return _by_topic(self._listed(asked, "offset"))

    def newest_ms(self, partitions: Mapping[str, Iterable[int]]) -> int | None:
        """The greatest timestamp of any record; None where there is no record."""
        spec = OffsetSpec.max_timestamp()  # type: ignore[no-untyped-call]
        found = self._listed(dict.fromkeys(_flat(partitions), spec), "timestamp")
        return max((time_ms for *_, time_ms in found if time_ms >= 0), default=None)

    def commit(self, group: str, offsets: Offsets) -> None:
        """Commit offsets to a consumer group, which may not have consumers at that moment."""
        places = [TopicPartition(t, n, o) for t, by_n in offsets.items() for n, o in by_n.items()]
        asked = self._admin.alter_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group, places)], request_timeout=LIMIT_SECONDS
        )
        for place in self._asked(asked[group].result).topic_partitions:
            if place.error is not None:
                raise translated(place.error, self._said, self._servers)

    def _topic(self, name: str, described: Future[Any], configured: Future[Any]) -> Topic:
        topic = self._asked(described.result)
        try:
            settings = self._asked(configured.result)
            policy = settings["cleanup.policy"].value.replace(" ", "").split(",")
            retention = int(settings["retention.ms"].value)
        except BrokerRefuses:
            policy, retention = [], -1
        # An id of zeros is that of a broker without ids.
        known = str(topic.topic_id) if str(topic.topic_id).strip("A") else None
        return Topic(
            name=name,
            id=known,
            partitions=tuple(sorted(partition.id for partition in topic.partitions)),
            cleanup_policy=tuple(policy),
            retention_ms=retention if retention >= 0 else None,
        )

    def _listed(
        self, asked: Mapping[TopicPartition, OffsetSpec], field: str
    ) -> list[tuple[str, int, int]]:
        if not asked:
            return []
        futures = self._admin.list_offsets(
            dict(asked), isolation_level=self._level, request_timeout=LIMIT_SECONDS
        )
        return [
            (str(place.topic), int(place.partition), int(getattr(self._asked(f.result), field)))
            for place, f in futures.items()
        ]

    def _asked(self, ask: Callable[[], Result]) -> Result:
        try:
            return ask()
        except KafkaException as error:
            self._admin.poll(0)
            raise translated(error.args[0], self._said, self._servers) from error


def _flat(partitions: Mapping[str, Iterable[int]]) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for topic, ns in partitions.items() for number in ns]


def _by_topic(listed: Iterable[tuple[str, int, int]]) -> Offsets:
    found: Offsets = {}
    for topic, partition, offset in sorted(listed):
        found.setdefault(topic, {})[partition] = offset
    return found
