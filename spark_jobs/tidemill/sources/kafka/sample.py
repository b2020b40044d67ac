"""A sample of a topic's unread records: their age and size."""

import time
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tidemill.contract.connections.airflow import Connection
from tidemill.sources.kafka.client import open_client
from tidemill.spec.sources.kafka import Offsets

SECONDS = 3.0
RECORDS = 200
READER = {
    # A group of that name is never joined, and nothing is committed to it.
    "group.id": "tidemill-doctor",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "earliest",
    "fetch.message.max.bytes": 2**16,
    "queued.max.messages.kbytes": 2**10,
}


@dataclass(frozen=True)
class Sample:
    """The age and size of the first unread records.

    Args:
        oldest_ms: The smallest timestamp, milliseconds since the epoch; None where unknown.
        bytes_a_record: The mean of key and value; None where unknown.
    """

    oldest_ms: int | None = None
    bytes_a_record: float | None = None


def sample(connection: Connection, position: Offsets, *, reads_committed: bool = False) -> Sample:
    """Look at the first records from a position, one of each partition and some more.

    What is not there within `SECONDS` is left out: this is for information.
    """
    waiting = {(t, p) for t, by_partition in position.items() for p in by_partition}
    if not waiting:
        return Sample()
    level = "read_committed" if reads_committed else "read_uncommitted"
    settings = {**READER, "isolation.level": level}
    consumer = open_client(Consumer, connection, lambda _: None, settings)
    times: list[int] = []
    sizes: list[int] = []
    try:
        consumer.assign([TopicPartition(t, p, position[t][p]) for t, p in waiting])
        end = time.monotonic() + SECONDS
        while waiting and time.monotonic() < end:
            for message in consumer.consume(RECORDS, 0.2):
                if message.error():
                    continue
                place = (str(message.topic()), int(message.partition() or 0))
                if place in waiting:
                    waiting.discard(place)
                    times.append(message.timestamp()[1])
                sizes.append(len(message.value() or b"") + len(message.key() or b""))
    except KafkaException:
        return Sample()
    finally:
        consumer.close()
    return Sample(
        oldest_ms=None if waiting else min(times),
        bytes_a_record=sum(sizes) / len(sizes) if sizes else None,
    )
