"""Kafka topics as a target: in order of events, with headers that tell repeats.

With a transactional id each event is a transaction, which readers of committed records see once.
Without, it is sent at least once: a topic can hold no head, so the journal's record is the head,
and a publish that is killed after it has sent and before that is written down sends the whole event
again. A record is told by its headers
`tidemill.pipeline`, `tidemill.generation`, `tidemill.increment` and `tidemill.row`, its place in
the increment, which is the same each time; `tidemill.batch` says which batch it is from. A reader
that has seen the four drops the record.

What was sent cannot be taken back. Rows that take the place of others say so in `tidemill.kind`
(`swap` or `replace`), and in `tidemill.partitions` of which: JSON with the columns and their values
as in directories' names, where no columns mean all rows; null where they only come to the others.
A swap that leaves its partitions empty sends no record.
"""

from collections.abc import Iterator

import pyarrow as pa

from tidemill.contract.connections.airflow import connection
from tidemill.contract.errors import Refused, UsageError
from tidemill.journal.journal import Event
from tidemill.journal.partition_set import Partitions
from tidemill.publish import encoding
from tidemill.publish.kafka_delivery import Delivery, Record
from tidemill.publish.kafka_transaction import TransactionalDelivery
from tidemill.publish.payload import Payload
from tidemill.spec.targets import KafkaTarget as Given

# The prefix of Kafka's own topics.
INTERNAL = "__"


class TopicUnfit(Refused):
    """A row goes to a topic that is not there, or is Kafka's own; carries `topics`."""


class ColumnUnknown(UsageError):
    """The target names a column that is not published; carries `field` and `column`."""


class KafkaTarget:
    """A topic, or several that a column names."""

    def __init__(self, given: Given, *, pipeline: str) -> None:
        self.given = given
        self.pipeline = pipeline
        self._delivery: Delivery | None = None

    @property
    def name(self) -> str:
        return self.given.name

    def find(self, event: Event) -> int | None:
        if self.given.transactional_id is None or event.kind == "reject":
            return None
        delivery = self._open()
        found = event.seq if delivery.has(event, self.given.topic) else None
        self._delivery = delivery
        return found

    def apply(self, event: Event, payload: Payload) -> int:
        if event.kind == "reject":
            return event.seq
        self._check_columns(payload.schema)
        delivery = self._open()
        self._check_topics(payload, delivery.topics())
        delivery.begin()
        try:
            first: str | None = None
            for record in self.records(event, payload):
                delivery.send(record)
                first = first or record.topic
            delivery.finish(event, first)
        except Exception:
            # Readers of committed records would wait for its end.
            delivery.abandon()
            raise
        self._delivery = delivery
        return event.seq

    def _open(self) -> Delivery:
        """The producer of the event before, or a new one, which takes half a second to begin.

        After an error there is none: it has left records in its queue.
        """
        kept, self._delivery = self._delivery, None
        if kept is not None:
            return kept
        given = connection(self.given.conn_id)
        if self.given.transactional_id is None:
            return Delivery(self.name, given)
        return TransactionalDelivery(self.name, given, self.given.transactional_id)

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
