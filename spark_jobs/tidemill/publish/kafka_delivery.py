"""The records of one event on their way to Kafka, each with its acknowledgement."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tidemill.contract.connections.airflow import Connection
from tidemill.contract.connections.kafka import client_config
from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused, TidemillError
from tidemill.journal.journal import Event
from tidemill.publish.target import TargetUnreachable

METADATA_SECONDS = 5.0
# After which a record counts as lost on the way; the whole event is then sent again later.
DELIVERY_MS = 60_000
UNREACHABLE = frozenset(
    {
        KafkaError._MSG_TIMED_OUT,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._AUTHENTICATION,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    }
)


class RecordRefused(Refused):
    """The broker or its client would not take a record; carries `target` and `state`."""


class Record(NamedTuple):
    """The Kafka record built from one row."""

    topic: str
    key: bytes | str | None
    value: bytes | str | None
    headers: list[tuple[str, str | bytes | None]]


class Delivery:
    """The records of one event on their way, each with its acknowledgement.

    Args:
        given: The connection.
        settings: Further ones of the producer.
    """

    def __init__(
        self, target: str, given: Connection, settings: Mapping[str, Any] | None = None
    ) -> None:
        self.target = target
        self.given = given
        self.failed: KafkaError | None = None
        self.said: KafkaError | None = None
        own = {
            "enable.idempotence": True,
            "acks": "all",
            # The partition that Java's clients, Spark among them, choose for a key.
            "partitioner": "murmur2_random",
            "delivery.timeout.ms": DELIVERY_MS,
            "linger.ms": 20,
            "compression.type": "lz4",
            "allow.auto.create.topics": False,
            "error_cb": self._hear,
            **(settings or {}),
        }
        try:
            self.producer = Producer({"log_level": 0, **client_config(given), **own})
        except KafkaException as error:
            raise self._error(error.args[0]) from None

    def has(self, event: Event, topic: str | None) -> bool:
        """Whether the records of an event are known to be there.

        Args:
            topic: Where they go; None where a column says it.
        """
        return False

    def begin(self) -> None:
        """Begin with an event."""

    def topics(self) -> frozenset[str]:
        """The topics that there are.

        Raises:
            TargetUnreachable: no broker answers.
        """
        try:
            found = self.producer.list_topics(timeout=METADATA_SECONDS)
        except KafkaException as error:
            # What was heard meanwhile says why; this one says only that time is up.
            raise self._error(self.said or error.args[0]) from None
        return frozenset(name for name, topic in found.topics.items() if topic.error is None)

    def send(self, record: Record) -> None:
        """Send a record; of those before it, the acknowledgements are looked at.

        Raises:
            RecordRefused: it is too large, or a broker said no to one before.
            TargetUnreachable: one before was not acknowledged in time.
        """
        while True:
            try:
                self.producer.produce(
                    record.topic,
                    key=record.key,
                    value=record.value,
                    headers=record.headers,
                    on_delivery=self._delivered,
                )
                break
            except BufferError:
                # The client's queue is full: make room.
                self.producer.poll(0.1)
            except KafkaException as error:
                raise self._error(error.args[0]) from None
        self.producer.poll(0)
        self._check()

    def finish(self, event: Event, topic: str | None) -> None:
        """Wait until every record was acknowledged.

        Args:
            event: The event that the records belong to.
            topic: Where the first of them went; None where there was none.

        Raises:
            RecordRefused: a broker said no to one.
            TargetUnreachable: one was not acknowledged in time.
        """
        left = self.producer.flush(2 * DELIVERY_MS / 1000)
        self._check()
        if left:
            raise TargetUnreachable(
                f"{self.target}: {counted(left, 'record')} not acknowledged.",
                remedy="The next run sends the increment again; its headers tell repeats.",
                target=self.target,
            )

    def abandon(self) -> None:
        """Give up what was begun."""

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None and self.failed is None:
            self.failed = error

    def _hear(self, error: KafkaError) -> None:
        self.said = error

    def _check(self) -> None:
        if self.failed is not None:
            # What is still in the queue must not follow an error of what came before it.
            self.producer.purge()
            raise self._error(self.failed)

    def _error(self, error: KafkaError) -> TidemillError:
        said = self.given.scrubbed(error.str())
        if error.code() in UNREACHABLE or error.retriable():
            return TargetUnreachable(
                f"{self.target} cannot be reached: {said}",
                remedy="The next run sends the increment (again); its headers tell repeats.",
                target=self.target,
            )
        return RecordRefused(
            f"{self.target}: {said}",
            remedy="Fix the topic's settings, the rights or the row; the next run sends the "
            "increment again, and its headers tell repeats.",
            target=self.target,
            state=error.name(),
        )
