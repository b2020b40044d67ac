"""`tidemill new` of files that say their types themselves, and of a topic."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from pyarrow import orc

from tests.cli.conftest import Tidemill
from tests.support.avro_file import write_avro
from tidemill.contract.errors import ExitCode
from tidemill.contract.project import Project
from tidemill.spec.load import load_spec

FIELDS: dict[str, Any] = {
    "id": "long",
    "price": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
    "note": ["null", "string"],
    "either": ["int", "string"],
    "tags": {"type": "array", "items": "string"},
    "sold": {"type": "int", "logicalType": "date"},
    "at": {"type": "long", "logicalType": "timestamp-micros"},
}
PARTITIONS = 4


class MockBroker:
    """The broker within librdkafka that is meant for tests; it lives as long as its producer."""

    def __init__(self) -> None:
        # Log level 0: it greets on standard error.
        self._producer = Producer(
            {"bootstrap.servers": "-", "test.mock.num.brokers": 1, "log_level": 0}
        )
        (self._found,) = self._producer.list_topics(timeout=10).brokers.values()

    @property
    def connection(self) -> str:
        """It as an Airflow connection."""
        servers = f"{self._found.host}:{self._found.port}"
        return json.dumps({"conn_type": "kafka", "extra": {"bootstrap.servers": servers}})

    def produce(self, topic: str, values: list[bytes]) -> None:
        for number, value in enumerate(values):
            self._producer.produce(topic, value, partition=number % PARTITIONS)
        assert self._producer.flush(30) == 0


@pytest.fixture
def mock_broker(monkeypatch: pytest.MonkeyPatch) -> MockBroker:
    """A broker, which is also the connection `shop_kafka`."""
    broker = MockBroker()
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_KAFKA", broker.connection)
    return broker


def from_topic(tidemill: Tidemill, topic: str, *more: str) -> Any:
    return tidemill(
        "new", "sales", "--from", f"kafka:{topic}", "--conn-id", "shop_kafka", "--json", *more
    )


def test_an_avro_file_says_its_types_in_its_header(
    tidemill: Tidemill, home: Path, tmp_path: Path
) -> None:
    rows = [
        {
            "id": number,
            "price": Decimal("1.25"),
            "note": None if number else "first",
            "either": number or "none",
            "tags": ["a"],
            "sold": date(2026, 3, 1),
            "at": datetime(2026, 3, 1, 12, number, tzinfo=UTC),
        }
        for number in range(20)
    ]
    (tmp_path / "in").mkdir()
    write_avro(tmp_path / "in" / "part-1.avro", FIELDS, rows, codec="snappy")
    made = tidemill("new", "sales", "--from", str(tmp_path / "in"), "--json").json
    assert made["schema"] == (
        "id bigint, price decimal(10,2), note string, "
        "either struct<member0: int, member1: string>, tags array<string>, sold date, at timestamp"
    )
    assert (made["rows"], made["event_time"], made["problems"]) == (20, "at", [])
    source = load_spec(Project(home).spec("sales")).file_inputs["sources.sales"]
    assert (source.format, source.options) == ("avro", {"pathGlobFilter": "*.avro"})
    assert {one["kwargs"]["column"] for one in made["expectations"]} >= {"id", "price", "at"}


def test_avro_and_orc_are_known_by_their_first_bytes(
    tidemill: Tidemill, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    write_avro(tmp_path / "a" / "part-1", {"id": "long"}, [{"id": 1}])
    (tmp_path / "o").mkdir()
    orc.write_table(pa.table({"id": [1], "share": [0.5]}), tmp_path / "o" / "part-1")
    schemas = {
        name: tidemill("new", name, "--from", str(tmp_path / name), "--json").json["schema"]
        for name in ("a", "o")
    }
    assert schemas == {"a": "id bigint", "o": "id bigint, share double"}
    formats = [load_spec(Project(home).spec(name)).file_inputs for name in ("a", "o")]
    assert [one.format for each in formats for one in each.values()] == ["avro", "orc"]


@pytest.mark.usefixtures("home")
def test_avro_whose_schema_is_not_a_record_is_refused(tidemill: Tidemill, tmp_path: Path) -> None:
    import fastavro

    with (tmp_path / "x.avro").open("wb") as file:
        fastavro.writer(file, "long", [1, 2])
    answer = tidemill("new", "sales", "--from", str(tmp_path / "x.avro"), "--json")
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "UnknownSample")


def test_a_topic_becomes_a_pipeline_by_its_last_records(
    tidemill: Tidemill, home: Path, mock_broker: MockBroker
) -> None:
    values = [
        json.dumps({"id": number, "shop": "York", "at": f"2026-03-01T12:{number:02d}:00Z"}).encode()
        for number in range(40)
    ]
    mock_broker.produce("orders", [*values, b"no json"])
    made = from_topic(tidemill, "orders").json
    assert made["schema"] == "id bigint, shop string, at timestamp"
    assert (made["rows"], made["event_time"], made["sample"]) == (40, "at", [])
    assert (made["problems"], len(made["notes"])) == ([], 1)
    source = load_spec(Project(home).spec("sales")).sources["sales"]
    assert source.kind == "kafka"
    assert (source.conn_id, source.subscribe) == ("shop_kafka", ("orders",))
    assert source.columns == ("id", "shop", "at")


def test_only_the_last_records_of_each_partition_are_read(
    tidemill: Tidemill, home: Path, mock_broker: MockBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemill.steps.authoring.delivery.MOST_RECORDS", PARTITIONS)
    old, new = [b'{"old": 1}'] * 2 * PARTITIONS, [b'{"new": 1}'] * PARTITIONS
    mock_broker.produce("orders", [*old, *new])
    made = from_topic(tidemill, "orders").json
    assert (made["rows"], made["schema"]) == (PARTITIONS, "new bigint")


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("topic", "more", "code"),
    [
        ("nowhere", (), "UnknownSample"),
        ("framed", (), "UnknownSample"),
        ("framed", ("--format", "csv"), "UnknownSample"),
    ],
)
def test_a_topic_that_cannot_be_sampled_is_refused(
    topic: str, more: tuple[str, ...], code: str, tidemill: Tidemill, mock_broker: MockBroker
) -> None:
    mock_broker.produce("framed", [b"\0\0\0\0\1abc"])
    answer = from_topic(tidemill, topic, *more)
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, code)


@pytest.mark.usefixtures("home")
def test_a_topic_has_no_preview_and_needs_its_connection(tidemill: Tidemill) -> None:
    words = ("new", "sales", "--from", "kafka:orders")
    preview = tidemill(*words, "--preview")
    assert preview.exit_code == ExitCode.USAGE
    answer = tidemill(*words, "--conn-id", "not_there", "--json")
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "ConnectionMissing")
