"""A small pipeline that reads Kafka, in folders and a topic of its own."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.servers.kafka import Broker
from tests.servers.kafka_client import KafkaClient, Record
from tests.support.pipelines.orders_pipeline import NAME, OrdersPipeline
from tests.support.table_reader import read_rows

SCHEMA = "id string, quantity int, at timestamp"
SUITE: dict[str, Any] = {
    "name": NAME,
    "meta": {"great_expectations_version": "1.24.1"},
    "expectations": [
        {
            "type": "expect_column_values_to_not_be_null",
            "kwargs": {"column": "at"},
            "meta": {},
            "severity": "critical",
        }
    ],
}


def spec_of(topic: str, **source: Any) -> dict[str, Any]:
    """A spec that publishes what a topic holds; JSON of `SCHEMA` where nothing else is said."""
    if not {"subscribe", "subscribePattern", "assign"} & source.keys():
        source["subscribe"] = topic
    return {
        "timezone": "UTC",
        "sources": {
            "orders": {
                "kind": "kafka",
                "value": {"format": "json", "schema": SCHEMA},
                **source,
            }
        },
        "event_time": {"column": "at"},
        "output": {"partition_by": {"day": "to_date(at)"}},
        "gate": {"rejected": {"hold_above": 0.9}},
    }


class KafkaPipeline(OrdersPipeline):
    """One pipeline on one topic.

    Args:
        home: As for `OrdersPipeline`.
        broker: That holds the topic.
        topic: Its name; created with `partitions`.
        source: Fields of the source, over those of `spec_of`.
        connection: The Airflow connection's extra; the listener without security if not given.
        transform: The transform's code, which passes all columns on where not given.
    """

    def __init__(
        self,
        home: Path,
        broker: Broker,
        *,
        partitions: int = 2,
        topic: str | None = None,
        source: dict[str, Any] | None = None,
        connection: dict[str, Any] | None = None,
        transform: str = "def transform(orders):\n    return orders\n",
        **config: Any,
    ) -> None:
        self.broker = broker
        self.topic = topic or f"orders-{uuid.uuid4().hex[:12]}"
        self.connection = connection or {"bootstrap.servers": broker.bootstrap}
        if topic is None:
            broker.create_topic(self.topic, partitions, **config)
        super().__init__(home, spec_of(self.topic, **(source or {})))
        self.suite.write_text(json.dumps(SUITE))
        (home / f"project/spark_jobs/transforms/{NAME}.py").write_text(transform)

    @property
    def environ(self) -> dict[str, str]:
        kafka = {"conn_type": "kafka", "extra": self.connection}
        return {**super().environ, "AIRFLOW_CONN_TIDEMILL_KAFKA": json.dumps(kafka)}

    def write_spec(self, spec: dict[str, Any]) -> None:
        """Go on with another spec."""
        self.spec = spec
        (self.home / f"project/dags/specs/{NAME}.yaml").write_text(yaml.safe_dump(spec))

    def produce(self, values: Sequence[bytes | str | None], **record: Any) -> None:
        """Write values, each under its number as key."""
        # A client of its own: one that knows a topic learns late of partitions that were added.
        KafkaClient(self.broker.bootstrap).produce(
            self.topic,
            [Record(key=f"k{n}", value=value, **record) for n, value in enumerate(values)],
        )

    def produce_orders(self, first: int, count: int, **record: Any) -> None:
        """Write orders with the ids `first` to `first + count - 1`."""
        self.produce([order(number) for number in range(first, first + count)], **record)

    def ids(self) -> Counter[str]:
        """The published ids as a multiset."""
        return Counter(row["id"] for row in self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """The published rows."""
        return read_rows(self.layout.table)

    def rejected_rows(self) -> list[dict[str, Any]]:
        return read_rows(self.layout.rejected)

    def assert_orders(self, last: int, first: int = 0) -> None:
        """The orders `first` to `last - 1` were published, each once."""
        assert self.ids() == Counter(f"o{number}" for number in range(first, last))

    def assert_orders_but(self, last: int, first_gone: int, until: int) -> None:
        """The orders 0 to `last - 1` were published, each once, but some that expired."""
        there = [n for n in range(last) if not first_gone <= n < until]
        assert self.ids() == Counter(f"o{number}" for number in there)


def order(number: int) -> str:
    return json.dumps(
        {"id": f"o{number}", "quantity": number % 7, "at": f"2026-03-0{number % 3 + 1} 10:00:00"}
    )
