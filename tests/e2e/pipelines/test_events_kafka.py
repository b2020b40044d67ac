"""The shipped pipeline events_kafka: its table equals what another program reads of the topic."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Message
from deltalake import DeltaTable

from tests.servers.kafka import Broker
from tests.servers.kafka_client import KafkaClient, Record
from tests.support.pipelines.pipeline_folder import STEPS
from tidemill.contract.report import Outcome
from tidemill.main import step_function
from tidemill.spec.pipeline import open_pipeline
from tidemill.steps.parts.run import perform
from tidemill.storage.run_context import RunContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "events_kafka"
ACTIONS = ("view", "basket", "purchase")


def at(number: int) -> datetime:
    return datetime(2026, 3, number % 4 + 1, 10, 0, number % 60, tzinfo=UTC)


def event(number: int) -> bytes:
    """An event; of some the action is unknown or the price no number, one is cut short."""
    action = "steal" if number % 97 == 0 else ACTIONS[number % 3]
    price = "free" if number % 101 == 0 else f"{number % 50}.{number % 100:02d}"
    text = json.dumps(
        {
            "event_id": f"{number:08x}-0000",
            "visitor": f"V{number % 20}",
            "action": action,
            "product": "mug",
            "price": price,
            "at": at(number).isoformat(),
        }
    )
    return (text[:-5] if number == 7 else text).encode()


def is_good(message: Message) -> bool:
    value = message.value() or b""
    return value.endswith(b"}") and b'"free"' not in value and b'"steal"' not in value


def expected(message: Message) -> tuple[Any, ...]:
    """Event id, revenue in pence, day and place of a record, as Python reads them."""
    found = json.loads(message.value() or b"")
    pence = round(float(found["price"]) * 100)
    revenue = pence if found["action"] == "purchase" else None
    return found["event_id"], revenue, found["at"][:10], message.partition(), message.offset()


def published(table: Path) -> list[tuple[Any, ...]]:
    names = ["event_id", "revenue", "event_date", "kafka_partition", "kafka_offset"]
    rows = DeltaTable(table).to_pyarrow_table(columns=names).to_pylist()
    return [
        (
            row["event_id"],
            None if row["revenue"] is None else int(row["revenue"] * 100),
            row["event_date"].isoformat(),
            row["kafka_partition"],
            row["kafka_offset"],
        )
        for row in rows
    ]


def test_good_and_rejected_tables_equal_what_the_topic_holds(
    tmp_path: Path, broker: Broker, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = f"events-{uuid.uuid4().hex[:8]}"
    broker.create_topic(topic, 3)
    (tmp_path / "root").mkdir()
    kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": broker.bootstrap}}
    environ = {
        "TIDEMILL_ROOT": str(tmp_path / "root"),
        "TIDEMILL_EVENTS": topic,
        "AIRFLOW_CONN_TIDEMILL_KAFKA": json.dumps(kafka),
    }
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    pipeline = open_pipeline(NAME, environ)
    for first, run_id in ((1, "first"), (301, "second")):
        records = [
            Record(f"V{n}", event(n), timestamp_ms=int(at(n).timestamp() * 1000) + n)
            for n in range(first, first + 300)
        ]
        KafkaClient(broker.bootstrap).produce(topic, records)
        for step in STEPS:
            one = RunContext(pipeline, run_id, lambda _: None)
            report = perform(step, step_function(step), one)
            assert report.outcome is Outcome.DONE, report

    held = broker.records(topic)
    good = Counter(expected(message) for message in held if is_good(message))
    assert sum(good.values()) > 580
    assert Counter(published(pipeline.layout.table)) == good
    rejected = DeltaTable(pipeline.layout.rejected).to_pyarrow_table(columns=["file", "reason"])
    places = {
        f"kafka:{topic}/{message.partition()}/{message.offset()}"
        for message in held
        if not is_good(message)
    }
    assert {row["file"] for row in rejected.to_pylist()} == places
    assert {row["reason"] for row in rejected.to_pylist()} == {"malformed", "rule action_known"}
