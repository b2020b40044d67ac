"""An event as one transaction of Kafka's, which says in itself that the event is published.

The transaction commits an offset to the consumer group that is named like the transactional id: the
offset is the event's number, and its metadata tell the event from any other. So whoever asks after
a kill learns whether the event was committed, and the group needs no reader. A broker forgets the
offsets of such a group after `offsets.retention.minutes`, by default a week.
"""

from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tidemill.contract.connections.airflow import Connection
from tidemill.contract.connections.kafka import client_config
from tidemill.contract.errors import TidemillError, TransientError
from tidemill.journal.journal import Event
from tidemill.publish.kafka_delivery import DELIVERY_MS, Delivery

# The longest that brokers let a transaction last, unless told otherwise.
TRANSACTION_MS = 900_000
PATIENCE_SECONDS = 2 * DELIVERY_MS / 1000
FENCED = frozenset(
    {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}
)


class ProducerFenced(TransientError):
    """Another producer with the same transactional id took over; carries `target`."""


class TransactionalDelivery(Delivery):
    """The records of one event, which readers of committed records see together or never.

    Args:
        transactional_id: Kafka's; a producer that had it before is fenced out.

    Raises:
        TargetUnreachable: no broker answers.
        RecordRefused: the broker does not let us use the id.
    """

    def __init__(self, target: str, given: Connection, transactional_id: str) -> None:
        self._id = transactional_id
        settings = {"transactional.id": transactional_id, "transaction.timeout.ms": TRANSACTION_MS}
        super().__init__(target, given, settings)
        # It only asks, and stands for the group: it never reads.
        self._member = Consumer({"log_level": 0, **client_config(given), "group.id": self._id})
        self._try(self.producer.init_transactions, PATIENCE_SECONDS)

    def has(self, event: Event, topic: str | None) -> bool:
        topics = self.topics() if topic is None else {topic}
        places = [TopicPartition(name, 0) for name in sorted(topics)]
        found = self._try(self._member.committed, places, PATIENCE_SECONDS)
        return any(one.metadata == _mark(event) for one in found)

    def begin(self) -> None:
        self._try(self.producer.begin_transaction)

    def finish(self, event: Event, topic: str | None) -> None:
        if topic is not None:
            place = TopicPartition(topic, 0, event.seq, _mark(event))
            group = self._member.consumer_group_metadata()
            self._try(self.producer.send_offsets_to_transaction, [place], group, PATIENCE_SECONDS)
        self._try(self.producer.commit_transaction, PATIENCE_SECONDS)

    def abandon(self) -> None:
        with suppress(KafkaException):
            self.producer.abort_transaction(PATIENCE_SECONDS)

    def _try(self, function: Any, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except KafkaException as error:
            # That of a record says more than that of the transaction, which follows from it.
            raise self._error(self.failed or error.args[0]) from None

    def _error(self, error: KafkaError) -> TidemillError:
        if error.code() in FENCED:
            return ProducerFenced(
                f"{self.target}: another producer took the transactional id '{self._id}' over, or "
                "the transaction lasted longer than the broker lets it.",
                remedy="Nothing to do where another run of the pipeline goes on; else give each "
                "pipeline a transactional_id of its own, or take less into an increment: budget.",
                target=self.target,
            )
        return super()._error(error)


def _mark(event: Event) -> str:
    """What tells an event from every other, also from those of an earlier root."""
    return f"{event.seq} {event.at.isoformat()} {event.files_hash}"
