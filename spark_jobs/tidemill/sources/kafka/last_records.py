"""The last records of a topic, to learn from them what a topic holds."""

import time

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tidemill.contract.connections.airflow import Connection
from tidemill.contract.connections.kafka import client_config
from tidemill.sources.kafka.broker import LIMIT_SECONDS
from tidemill.sources.kafka.client import open_client, translated
from tidemill.sources.kafka.sample import READER, RECORDS

# A few large records a partition may take longer than an answer.
PATIENCE_SECONDS = 20.0


def last_records(connection: Connection, topic: str, count: int) -> list[bytes | None]:
    """The values of about as many records as asked for, the newest of each partition.

    What is not there within `PATIENCE_SECONDS` is left out. Nothing is committed to any group.

    Args:
        topic: One that exists.
        count: Each partition gives an equal share, rounded up.

    Raises:
        BrokerUnreachable: no broker answers in time.
        BrokerRefuses: the login may not read the topic.
    """
    said: list[KafkaError] = []
    settings = {**READER, "enable.partition.eof": True}
    consumer = open_client(Consumer, connection, said.append, settings)
    try:
        partitions = {*consumer.list_topics(topic, timeout=LIMIT_SECONDS).topics[topic].partitions}
        share = -(-count // len(partitions))
        places = [TopicPartition(topic, number) for number in sorted(partitions)]
        for place in places:
            low, high = consumer.get_watermark_offsets(place, timeout=LIMIT_SECONDS)
            place.offset = max(low, high - share)
        consumer.assign(places)
        return _read(consumer, partitions)
    except KafkaException as error:
        servers = str(client_config(connection)["bootstrap.servers"])
        raise translated(error.args[0], said, servers) from error
    finally:
        consumer.close()


def _read(consumer: Consumer, waiting: set[int]) -> list[bytes | None]:
    values: list[bytes | None] = []
    end = time.monotonic() + PATIENCE_SECONDS
    while waiting and time.monotonic() < end:
        for message in consumer.consume(RECORDS, 0.2):
            error = message.error()
            if error is None:
                values.append(message.value())
            elif error.code() == KafkaError._PARTITION_EOF:
                waiting.discard(int(message.partition() or 0))
            else:
                raise KafkaException(error)
    return values
