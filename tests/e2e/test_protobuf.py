"""Protobuf values are decoded by the schema they were written with, now and later."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.servers.kafka import Broker
from tests.servers.kafka_client import KafkaClient, Record
from tests.servers.schema_registry import SchemaRegistry
from tests.support.pipelines.kafka_pipeline import KafkaPipeline
from tests.support.protobuf_schemas import encoded, enum, framed, message, schema
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome, Report
from tidemill.engine.sources.kinds import spark_source
from tidemill.ledger.ledger import Ledger

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from pyspark.sql import SparkSession

CONN_ID = "schema_registry"
NAME, STATES = "shop.Order", "shop/states.proto"
TIME = "google/protobuf/timestamp.proto"
AT = {"seconds": 1_772_359_200}
COLUMNS = "id string, at timestamp, state string, quantity bigint"
COMMON = schema(enum("State", "NEW", "PAID"), name=STATES)
FIELDS = {"id": "string", "at": "google.protobuf.Timestamp", "state": "shop.State"}


def orders(**more: str) -> FileDescriptorProto:
    parcel = message("Parcel", id="string")
    return schema(message("Order", **FIELDS, **more), parcel, imports=[TIME, STATES])


FIRST, SECOND = orders(), orders(quantity="int32")
WIDER = orders(quantity="uint64")


def value(schema_id: int, file: FileDescriptorProto, key: str, **more: Any) -> bytes:
    return framed(schema_id, encoded(file, NAME, {"id": key, "at": AT, **more}, [COMMON]))


@pytest.fixture
def registry() -> SchemaRegistry:
    registry = SchemaRegistry(first_id=70_000)
    registry.register("states", COMMON, kind="PROTOBUF")
    return registry


@pytest.fixture
def mill(
    registry: SchemaRegistry,
    tmp_path: Path,
    broker: Broker,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> KafkaPipeline:
    given = {"format": "protobuf", "schema": COLUMNS, "registry": CONN_ID}
    mill = KafkaPipeline(tmp_path, broker, source={"value": given}, partitions=1)
    name = "AIRFLOW_CONN_TIDEMILL_KAFKA"
    monkeypatch.setenv(name, mill.environ[name])
    monkeypatch.setenv(f"AIRFLOW_CONN_{CONN_ID.upper()}", registry.connection)
    return mill


def register(registry: SchemaRegistry, mill: KafkaPipeline, file: FileDescriptorProto) -> int:
    subject = f"{mill.topic}-value"
    return registry.register(subject, file, kind="PROTOBUF", references=[(STATES, "states", 1)])


def produce(mill: KafkaPipeline, *values: bytes) -> None:
    records = [Record(None, one) for one in values]
    KafkaClient(mill.broker.bootstrap).produce(mill.topic, records)


def published(mill: KafkaPipeline) -> dict[str, tuple[str, int | None]]:
    return {row["id"]: (row["state"], row["quantity"]) for row in mill.rows()}


def read_again(mill: KafkaPipeline, spark: SparkSession) -> list[str]:
    """The ids of the good rows of the first batch, as every recomputation reads them."""
    ledger = Ledger(mill.layout, FIRST_GENERATION)
    source = spark_source(spark, mill.pipeline, "orders")
    rows = source.read_again(ledger, ledger.batches()[0], None).where("_corrupt IS NULL")
    return sorted(row["id"] for row in rows.collect())


def error_of(report: Report) -> dict[str, Any]:
    assert report.error is not None
    return report.error


def test_each_value_is_decoded_by_its_own_schema_now_and_without_the_registry(
    mill: KafkaPipeline, registry: SchemaRegistry, spark: SparkSession
) -> None:
    with registry.up():
        first = register(registry, mill, FIRST)
        produce(mill, value(first, FIRST, "a", state=1))
        assert mill.run("first")["publish"].outcome is Outcome.DONE
        # It is registered after the run has kept the others, and under a subject of its own.
        second = registry.register(
            "another.subject", SECOND, kind="PROTOBUF", references=[(STATES, "states", 1)]
        )
        produce(
            mill,
            value(second, SECOND, "b", quantity=2),
            value(first, SECOND, "c", quantity=3),
            value(9, FIRST, "d"),
            value(first, FIRST, "e")[:-1],
            b"no frame",
        )
        ran = mill.run("second")
    assert [*ran.values()][-1].error is None
    assert (ran["ingest"].facts["rows"], ran["ingest"].facts["rejected"]) == (2, 3)
    expected = {"a": ("PAID", None), "b": ("NEW", 2), "c": ("NEW", None)}
    assert published(mill) == expected
    assert mill.rows()[0]["at"] == datetime.fromtimestamp(AT["seconds"], UTC)
    assert {row["reason"] for row in mill.rejected_rows()} == {"malformed"}

    produce(mill, value(second, SECOND, "f", quantity=0))
    assert mill.run("without")["publish"].outcome is Outcome.DONE
    assert published(mill) == {**expected, "f": ("NEW", 0)}
    assert read_again(mill, spark) == ["a"]


def test_a_value_of_another_message_ends_the_run_until_the_spec_names_the_one_to_read(
    mill: KafkaPipeline, registry: SchemaRegistry
) -> None:
    with registry.up():
        first = register(registry, mill, FIRST)
        parcel = encoded(FIRST, "shop.Parcel", {"id": "b"}, [COMMON])
        produce(mill, value(first, FIRST, "a"), framed(first, parcel, indexes=b"\x02\x02"))
        refused = error_of(mill.run("parcel")["ingest"])
        assert (refused["code"], refused["transient"]) == ("WriterSchemaUnfit", False)
        assert (refused["data"]["schema_id"], refused["data"]["field"]) == (first, "")
        assert Ledger(mill.layout, FIRST_GENERATION).latest() == -1

        mill.spec["sources"]["orders"]["value"]["message"] = NAME
        mill.write_spec(mill.spec)
        ran = mill.run("named")
        assert (ran["ingest"].facts["rows"], ran["ingest"].facts["rejected"]) == (1, 1)
        assert published(mill) == {"a": ("NEW", None)}

        wider = register(registry, mill, WIDER)
        produce(mill, value(wider, WIDER, "c", quantity=1))
        unfit = error_of(mill.run("wider")["ingest"])
    assert (unfit["data"]["schema_id"], unfit["data"]["field"]) == (wider, "quantity")
