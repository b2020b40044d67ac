"""Values in Confluent's frame are decoded by the schema they were written with, now and later."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.servers.kafka import Broker
from tests.servers.kafka_client import KafkaClient, Record
from tests.servers.schema_registry import SchemaRegistry, framed
from tests.support.pipelines.kafka_pipeline import KafkaPipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome, Report
from tidemill.engine.sources.kinds import spark_source
from tidemill.ledger.ledger import Ledger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONN_ID = "schema_registry"
# 2026-03-01T10:00:00Z
AT = 1_772_359_200_000
FIRST: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}


def with_field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {**FIRST, "fields": [*FIRST["fields"], {"name": name, "type": kind, **more}]}


SECOND = with_field("quantity", "int", default=1)
# The table's column is as wide as any schema's.
TRANSFORM = """
def transform(orders):
    return orders.withColumn("quantity", orders["quantity"].cast("bigint"))
"""


@pytest.fixture
def make(
    tmp_path: Path, broker: Broker, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Callable[[SchemaRegistry], KafkaPipeline]:
    """A pipeline that reads values by the second schema."""

    def call(registry: SchemaRegistry) -> KafkaPipeline:
        value = {"format": "avro", "schema": json.dumps(SECOND), "registry": CONN_ID}
        mill = KafkaPipeline(
            tmp_path, broker, source={"value": value}, transform=TRANSFORM, partitions=1
        )
        name = "AIRFLOW_CONN_TIDEMILL_KAFKA"
        monkeypatch.setenv(name, mill.environ[name])
        monkeypatch.setenv(f"AIRFLOW_CONN_{CONN_ID.upper()}", registry.connection)
        return mill

    return call


def produce(mill: KafkaPipeline, *values: bytes) -> None:
    records = [Record(None, value) for value in values]
    KafkaClient(mill.broker.bootstrap).produce(mill.topic, records)


def published(mill: KafkaPipeline) -> dict[str, int]:
    return {row["id"]: row["quantity"] for row in mill.rows()}


def read_again(mill: KafkaPipeline, spark: SparkSession) -> dict[str, int]:
    """The good rows of the first batch, as every recomputation reads them."""
    ledger = Ledger(mill.layout, FIRST_GENERATION)
    source = spark_source(spark, mill.pipeline, "orders")
    rows = source.read_again(ledger, ledger.batches()[0], None).where("_corrupt IS NULL")
    return {row["id"]: row["quantity"] for row in rows.collect()}


def error_of(report: Report) -> dict[str, Any]:
    assert report.error is not None
    return report.error


def test_each_value_is_decoded_by_its_own_schema_now_and_without_the_registry(
    make: Callable[[SchemaRegistry], KafkaPipeline], spark: SparkSession
) -> None:
    registry = SchemaRegistry(first_id=70_000)
    with registry.up():
        mill = make(registry)
        subject = f"{mill.topic}-value"
        first, second = registry.register(subject, FIRST), registry.register(subject, SECOND)
        of_other = registry.register("another.subject", {**SECOND, "name": "Other"})
        produce(
            mill,
            framed(first, FIRST, {"id": "a", "at": AT}),
            framed(second, SECOND, {"id": "b", "at": AT, "quantity": 2}),
            framed(of_other, SECOND, {"id": "c", "at": AT, "quantity": 3}),
            framed(9, SECOND, {"id": "d", "at": AT, "quantity": 4}),
            b"no frame",
        )
        ran = mill.run("first")
        assert [*ran.values()][-1].error is None
        assert (ran["ingest"].facts["rows"], ran["ingest"].facts["rejected"]) == (3, 2)
        assert published(mill) == {"a": 1, "b": 2, "c": 3}
        assert {row["reason"] for row in mill.rejected_rows()} == {"malformed"}
        assert "a secret of the registry" not in "".join(
            path.read_text(errors="replace") for path in mill.root.rglob("*.json")
        )
    produce(mill, framed(second, SECOND, {"id": "e", "at": AT, "quantity": 5}))
    assert mill.run("without")["publish"].outcome is Outcome.DONE
    assert published(mill) == {"a": 1, "b": 2, "c": 3, "e": 5}
    assert read_again(mill, spark) == {"a": 1, "b": 2, "c": 3}

    third = registry.register(subject, with_field("quantity", "long"))
    produce(
        mill, framed(third, with_field("quantity", "long"), {"id": "f", "at": AT, "quantity": 6})
    )
    gone = error_of(mill.run("new schema")["ingest"])
    assert (gone["code"], gone["transient"]) == ("RegistryUnreachable", True)
    with registry.up():
        unfit = error_of(mill.run("unfit")["ingest"])
    assert (unfit["code"], unfit["transient"]) == ("WriterSchemaUnfit", False)
    assert (unfit["data"]["schema_id"], unfit["data"]["subject"]) == (third, subject)
    assert unfit["data"]["field"] == "quantity"
    mill.spec["sources"]["orders"]["value"]["schema"] = json.dumps(
        with_field("quantity", "long", default=1)
    )
    mill.write_spec(mill.spec)
    assert mill.run("wider")["publish"].outcome is Outcome.DONE
    assert published(mill)["f"] == 6
