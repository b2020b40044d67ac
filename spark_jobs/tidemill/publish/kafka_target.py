"""Kafka topics as a target: at least once, in order of events, with headers that tell repeats.

A topic can hold no head, so the journal's record is the head: a publish that is killed after it has
sent and before that is written down sends the whole event again. A record is told by its headers
`tidemill.pipeline`, `tidemill.generation`, `tidemill.increment` and `tidemill.row`, its place in
the increment, which is the same each time; `tidemill.batch` says which batch it is from. A reader
that has seen the four drops the record.

What was sent cannot be taken back. Rows that take the place of others say so in `tidemill.kind`
(`swap` or `replace`), and in `tidemill.partitions` of which: JSON with the columns and their values
as in directories' names, where no columns mean all rows; null where they only come to the others.
A swap that leaves its partitions empty sends no record.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tidemill.contract.connections.airflow import Connection, connection
from tidemill.contract.connections.kafka import client_config
from tidemill.contract.errors import Refused, UsageError
from tidemill.journal.journal import Event
from tidemill.journal.partition_set import Partitions
from tidemill.publish import encoding
from tidemill.publish.payload import Payload
from tidemill.publish.target import TargetUnreachable
from tidemill.spec.targets import KafkaTarget as Given

METADATA_SECONDS = 5.0
# After which a record counts as lost on the way; the whole event is then sent again later.
DELIVERY_MS = 60_000
# The prefix of Kafka's own topics.
INTERNAL = "__"
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


class TopicUnfit(Refused):
    """A row goes to a topic that is not there, or is Kafka's own; carries `topics`."""


class ColumnUnknown(UsageError):
    """The target names a column that is not published; carries `field` and `column`."""


class RecordRefused(Refused):
    """The broker or its client would not take a record; carries `target` and `state`."""


class Record(NamedTuple):
    """The Kafka record built from one row."""

    topic: str
    key: bytes | str | None
    value: bytes | str | None
    headers: list[tuple[str, str | bytes | None]]


class KafkaTarget:
    """A topic, or several that a column names."""

    def __init__(self, given: Given, *, pipeline: str) -> None:
        self.given = given
        self.pipeline = pipeline
        self._delivery: _Delivery | None = None

    @property
    def name(self) -> str:
        return self.given.name

    def find(self, event: Event) -> int | None:
        return None

    def apply(self, event: Event, payload: Payload) -> int:
        if event.kind == "reject":
            return event.seq
        self._check_columns(payload.schema)
        # Kept for the next event: an idempotent producer takes half a second to begin. Not after an
        # error, which leaves records in its queue.
        delivery = self._delivery or _Delivery(self.name, connection(self.given.conn_id))
        self._delivery = None
        self._check_topics(payload, delivery.topics())
        for record in self.records(event, payload):
            delivery.send(record)
        delivery.finish()
        self._delivery = delivery
        return event.seq

    def records(self, event: Event, payload: Payload) -> Iterator[Record]:
        """The records of an event, always the same and in the same order."""
        same: list[tuple[str, str | bytes | None]] = [
            ("tidemill.pipeline", self.pipeline),
            ("tidemill.generation", event.generation),
            ("tidemill.increment", str(event.increment)),
            *_replacing(event),
        ]
        row = 0
        for batch, chunk in payload.read():
            of_batch = [*same, ("tidemill.batch", str(batch))]
            for topic, key, value in zip(
                self._topics(chunk), self._keys(chunk), self._values(chunk), strict=True
            ):
                yield Record(topic, key, value, [*of_batch, ("tidemill.row", str(row))])
                row += 1

    def _topics(self, chunk: pa.RecordBatch) -> list[str]:
        if self.given.topic is not None:
            return [self.given.topic] * chunk.num_rows
        return [str(topic) for topic in chunk.column(self.given.topic_column).to_pylist()]

    def _keys(self, chunk: pa.RecordBatch) -> Iterator[bytes | str | None]:
        key = self.given.key
        if len(key) > 1:
            return encoding.json_objects(chunk, key)
        return _texts(chunk, key[0]) if key else iter([None] * chunk.num_rows)

    def _values(self, chunk: pa.RecordBatch) -> Iterator[bytes | str | None]:
        if isinstance(self.given.value, dict):
            return _texts(chunk, self.given.value["text"])
        apart = (*self.given.key, self.given.topic_column)
        columns = [name for name in chunk.schema.names if name not in apart]
        if self.given.value == "csv":
            return encoding.csv_lines(chunk, columns)
        return encoding.json_objects(chunk, columns)

    def _check_columns(self, schema: pa.Schema) -> None:
        for field, column in self.given.columns_named:
            if column not in schema.names:
                raise ColumnUnknown(
                    f"{self.name}: {field} names '{column}', which is not published; there "
                    f"are {', '.join(schema.names)}.",
                    remedy="Correct the target under `publish`.",
                    field=field,
                    column=column,
                )

    def _check_topics(self, payload: Payload, known: frozenset[str]) -> None:
        """Prove, before anything is sent, that all rows go to topics that somebody has made.

        What stands in a column comes from outside: it must not make topics, nor reach Kafka's own.
        """
        if self.given.topic is not None:
            wanted: set[str | None] = {self.given.topic}
        else:
            columns = (chunk.column(self.given.topic_column) for _, chunk in payload.read())
            wanted = {topic for column in columns for topic in column.unique().to_pylist()}
        unfit = sorted(str(t) for t in wanted if t not in known or str(t).startswith(INTERNAL))
        if unfit:
            raise TopicUnfit(
                f"{self.name}: there is no topic '{unfit[0]}' ({len(unfit)} such names), or it is "
                "not ours to write to.",
                remedy="Create it, with the partitions and retention that its readers need; "
                "nothing was sent.",
                topics=unfit[:20],
            )


class _Delivery:
    """The records of one event on their way, each with its acknowledgement.

    Args:
        given: The connection.
    """

    def __init__(self, target: str, given: Connection) -> None:
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
        }
        try:
            self.producer = Producer({"log_level": 0, **client_config(given), **own})
        except KafkaException as error:
            raise self._error(error.args[0]) from None

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

    def finish(self) -> None:
        """Wait until every record was acknowledged.

        Raises:
            RecordRefused: a broker said no to one.
            TargetUnreachable: one was not acknowledged in time.
        """
        left = self.producer.flush(2 * DELIVERY_MS / 1000)
        self._check()
        if left:
            raise TargetUnreachable(
                f"{self.target}: {left} records were not acknowledged.",
                remedy="The next run sends the increment again; its headers tell repeats.",
                target=self.target,
            )

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

    def _error(self, error: KafkaError) -> Refused | TargetUnreachable:
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


def _replacing(event: Event) -> list[tuple[str, str]]:
    """The headers of a record that replaces rows."""
    if event.in_order:
        return []
    partitions = event.recomputation.partitions if event.recomputation else None
    if event.kind == "replace":
        partitions = Partitions()
    said = "null" if partitions is None else partitions.model_dump_json()
    return [("tidemill.kind", event.kind), ("tidemill.partitions", said)]


def _texts(chunk: pa.RecordBatch, name: str) -> Iterator[bytes | str | None]:
    column = chunk.column(name)
    if pa.types.is_binary(column.type):
        return iter(column.to_pylist())
    return encoding.plain_texts(column)
