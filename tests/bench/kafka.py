"""Kafka: JSON values to published Parquet, by us and by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import Producer

from tests.bench import orders
from tests.bench.measure import Command
from tests.bench.sides import SCRIPTS, SUBMIT, Sides
from tests.servers.kafka import Broker
from tidemill.toolchain.jars import jars_of

TOPIC = "orders"
PARTITIONS = 4
SPEC: dict[str, Any] = {
    **{name: value for name, value in orders.SPEC.items() if name != "env"},
    "sources": {
        "orders": {
            "kind": "kafka",
            "subscribe": TOPIC,
            "value": {"schema": orders.SPEC["sources"]["orders"]["schema"]},
            "maxOffsetsPerTrigger": 500_000,
        }
    },
}


class KafkaSides(Sides):
    """Both sides of the comparison, on one topic.

    Args:
        home: For the project and the output.
        broker: That holds the topic.
        records: How many it holds.
    """

    def __init__(self, home: Path, broker: Broker, records: int) -> None:
        super().__init__(home)
        self.broker = broker
        self.records = records
        spec = home / f"project/dags/specs/{orders.NAME}.yaml"
        spec.write_text(yaml.safe_dump(SPEC))
        kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": broker.bootstrap}}
        self.environ["AIRFLOW_CONN_TIDEMILL_KAFKA"] = json.dumps(kafka)
        broker.create_topic(TOPIC, PARTITIONS)
        self.backlog_bytes = _produce(broker, records)

    def by_hand(self) -> Command:
        jars = ",".join(str(jar) for jar in jars_of("kafka"))
        script = str(SCRIPTS / "ingest_kafka.py")
        return [*SUBMIT, "--jars", jars, script, self.broker.bootstrap, TOPIC, str(self.theirs)]


@contextmanager
def kafka_sides(home: Path, records: int) -> Iterator[KafkaSides]:
    """Both sides beside a broker with all records in its topic."""
    with Broker() as broker:
        yield KafkaSides(home, broker, records)


def _produce(broker: Broker, records: int) -> int:
    """Orders as JSON, one record in 500 malformed, all of one day; returns their bytes."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "linger.ms": 50,
            "queue.buffering.max.messages": 500_000,
        }
    )
    size = 0
    for number in range(records):
        value = _order(number)
        size += len(value)
        while True:
            try:
                producer.produce(TOPIC, value)
                break
            except BufferError:
                producer.poll(0.1)
    left = producer.flush(120)
    if left:
        msg = f"{left} records were not taken by the broker"
        raise RuntimeError(msg)
    return size


def _order(number: int) -> bytes:
    quantity = '"many"' if number % 500 == 0 else str(1 + number % 9)
    product = ("kettle", "teapot", "mug")[number % 3]
    seconds = number % 86_400
    at = f"2026-03-01 {seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return (
        f'{{"id":"ORDER-{number:09d}","quantity":{quantity},"price":{number % 9000 / 100:.2f},'
        f'"product":"{product}","at":"{at}"}}'
    ).encode()
