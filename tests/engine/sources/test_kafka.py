"""What Spark reads of Kafka: every format, every way to name topics and to say where to begin."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from tests.servers.kafka import Broker
from tests.servers.kafka_client import Record
from tests.support.spec_text import minimal, parse
from tidemill.engine.sources.columns import CORRUPT, ORIGIN
from tidemill.engine.sources.kafka import read_batch, stream
from tidemill.engine.spark_errors import NewFields, from_spark
from tidemill.spec.sources.kafka import KafkaSource
from tidemill.spec.spec import Spec
from tidemill.toolchain.spark_conf import engine_conf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JSON = {"format": "json", "schema": "id string, n int"}
CSV = {"format": "csv", "schema": "id string, n int"}
AVRO_SCHEMA = {
    "type": "record",
    "name": "event",
    "namespace": "shop",
    "fields": [{"name": "id", "type": ["null", "string"]}, {"name": "n", "type": ["null", "int"]}],
}
NAMED_SOURCES = {
    key: value
    for key, value in engine_conf(parse(minimal())).items()
    if "Evolution" in key or "offsetLog" in key
}
Read = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def environ(broker: Broker) -> dict[str, str]:
    kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": broker.bootstrap}}
    return {"AIRFLOW_CONN_TIDEMILL_KAFKA": json.dumps(kafka)}


@pytest.fixture
def topic(broker: Broker) -> str:
    name = f"t-{uuid.uuid4().hex[:12]}"
    broker.create_topic(name, 1)
    return name


def source(topic: str, **given: Any) -> KafkaSource:
    if not {"subscribe", "subscribePattern", "assign"} & given.keys():
        given["subscribe"] = topic
    return KafkaSource.model_validate({"kind": "kafka", "value": JSON, **given})


@pytest.fixture
def read(spark: SparkSession, environ: dict[str, str], broker: Broker, topic: str) -> Read:
    """Values of one record each -> their rows: columns, `_corrupt`."""

    def call(values: Sequence[bytes | str | None], value: dict[str, Any]) -> list[tuple[Any, ...]]:
        broker.produce(topic, [Record(f"k{n}", value) for n, value in enumerate(values)])
        given = source(topic, value=value)
        rows = read_batch(spark, given, {}, {topic: {0: len(values)}}, environ)
        assert rows.columns == [*given.columns, CORRUPT, ORIGIN]
        found = rows.collect()
        assert [row[ORIGIN] for row in found] == [f"kafka:{topic}/0/{n}" for n in range(len(found))]
        return [tuple(row)[:-1] for row in found]

    return call


def test_json_is_read_to_its_end_or_kept_as_it_is(read: Read) -> None:
    good = {
        '{"id":"a","n":1}': ("a", 1),
        '{"n":null,"id":"b","more":1}': ("b", None),
        "{}": (None, None),
        '\n {"id" : "c"}\r\n': ("c", None),
        '{"id":"}{"}': ("}{", None),
        '{\n  "id": "d",\n  "n": 2\n}\n': ("d", 2),
    }
    bad = [
        '{"id":"a","n":"one"}',
        '{"id":"a","n":99999999999}',
        '{"id":"a"}{"id":"b"}',
        '{"id":"a"}\n{"id":"b"}',
        '{"id":"a"} and more',
        '[{"id":"a"}]',
        "null",
        "1",
        "",
        "  ",
        '{"id":"a"',
    ]
    rows = read([*good, *bad], JSON)
    assert rows[: len(good)] == [(*row, None) for row in good.values()]
    assert [row[2] for row in rows[len(good) :]] == bad


def test_new_fields_of_json_are_rescued_or_refused(read: Read) -> None:
    values = ['{"id":"a"}', '{"id":"b","more":[1]}', "{"]
    rescuing = {**JSON, "new_fields": {"rescue": "rest"}}
    rows = read(values, rescuing)
    assert rows == [
        ("a", None, None, None),
        ("b", None, '{"more":[1]}', None),
        (None,) * 3 + ("{",),
    ]
    with pytest.raises(PySparkException) as raised:
        read(values, {**JSON, "new_fields": "refuse"})
    refused = from_spark(raised.value)
    assert isinstance(refused, NewFields)
    assert refused.fields == ["more"]


def test_csv_is_read_to_its_end_or_kept_as_it_is(read: Read) -> None:
    good = {"a,1": ("a", 1), '"b\nb",2': ("b\nb", 2), "c,3\n": ("c", 3), ",": (None, None)}
    bad = ["a", "a,1,2", "a,one", "a,1\nb,2", "", " "]
    rows = read([*good, *bad], CSV)
    assert rows[: len(good)] == [(*row, None) for row in good.values()]
    assert [row[2] for row in rows[len(good) :]] == bad


def test_a_second_line_of_texts_is_not_dropped(read: Read) -> None:
    rows = read(["a,b\nc,d"], {"format": "csv", "schema": "x string, y string"})
    assert rows[0][2] == "a,b\nc,d"


def test_options_of_a_format_reach_sparks_functions(read: Read) -> None:
    assert read(["a;1"], {**CSV, "options": {"sep": ";"}}) == [("a", 1, None)]


@pytest.mark.parametrize("value", [JSON, CSV])
def test_bytes_that_are_no_text_are_kept_in_base_64(read: Read, value: dict[str, Any]) -> None:
    wrong = b'{"id":"\xff"}'
    text = base64.b64encode(wrong).decode()
    assert [row[2] for row in read([wrong], value)] == [text]


@pytest.mark.parametrize("value", [JSON, CSV])
def test_a_record_without_value_is_kept_with_its_key(read: Read, value: dict[str, Any]) -> None:
    assert read([None], value) == [(None, None, '{"key":"k0","value":null}')]


def test_text_is_utf_8_or_kept_in_base_64(read: Read) -> None:
    rows = read(["Grüße", b"\xff\xfe", None, ""], {"format": "text"})
    assert rows == [("Grüße", None), (rows[1][0], "//4="), (None, None), ("", None)]


def test_binary_is_whatever_it_is(read: Read) -> None:
    rows = read([b"\xff", None], {"format": "binary"})
    assert rows == [(bytearray(b"\xff"), None), (None, None)]


def test_avro_rows_of_nulls_are_told_from_what_is_no_avro(read: Read) -> None:
    value = {"format": "avro", "schema": json.dumps(AVRO_SCHEMA)}
    rows = read([b"\x02\x02a\x02\x02", b"\x00\x00", b"\xff\xff", b"", None], value)
    assert rows == [
        ("a", 1, None),
        (None, None, None),
        (None, None, "//8="),
        (None, None, ""),
        (None, None, '{"key":"k4","value":null}'),
    ]


def test_avro_is_read_with_a_schema_of_the_readers_own(read: Read) -> None:
    more = {"name": "z", "type": "int", "default": 5}
    wider = {**AVRO_SCHEMA, "fields": [AVRO_SCHEMA["fields"][0], more]}
    options = {"avroSchema": json.dumps(wider)}
    value = {"format": "avro", "schema": json.dumps(AVRO_SCHEMA), "options": options}
    assert read([b"\x02\x02a\x02\x02"], value) == [("a", 5, None)]


def test_columns_of_the_record_itself_are_there_when_asked_for(
    spark: SparkSession, environ: dict[str, str], broker: Broker, topic: str
) -> None:
    record = Record("k", '{"id":"a"}', headers=[("h", b"1"), ("h", None)], timestamp_ms=1500)
    broker.produce(topic, [record, Record(b"\xff", '{"id":"b"}'), Record(None, '{"id":"c"}')])
    every = ["key", "headers", "topic", "partition", "offset", "timestamp", "timestampType"]
    given = source(topic, include=every)
    rows = read_batch(spark, given, {}, {topic: {0: 3}}, environ).collect()
    assert rows[0].asDict()["key"] == "k"
    assert [tuple(header) for header in rows[0]["headers"]] == [("h", bytearray(b"1")), ("h", None)]
    assert (rows[0]["topic"], rows[0]["partition"], rows[0]["offset"]) == (topic, 0, 0)
    assert (rows[0]["timestamp"].timestamp(), rows[0]["timestampType"]) == (1.5, 0)
    # A key that is not text makes the row a rejected one; no key at all is not one.
    assert [row[CORRUPT] for row in rows] == [None, '{"id":"b"}', None]
    binary = source(topic, include={"key": "raw"}, key_format="binary")
    rows = read_batch(spark, binary, {}, {topic: {0: 3}}, environ).collect()
    assert [row["raw"] for row in rows] == [bytearray(b"k"), bytearray(b"\xff"), None]
    assert [row[CORRUPT] for row in rows] == [None, None, None]


def test_a_range_is_read_and_nothing_beside_it(
    spark: SparkSession, environ: dict[str, str], broker: Broker, topic: str
) -> None:
    broker.add_partitions(topic, 2)
    broker.produce(topic, [Record(None, '{"id":"a"}', partition=0)] * 5)
    given = source(topic, maxOffsetsPerTrigger=1, startingOffsets="latest")
    rows = read_batch(spark, given, {topic: {0: 1}}, {topic: {0: 4, 1: 0}}, environ)
    assert sorted(row[ORIGIN][-3:] for row in rows.collect()) == ["0/1", "0/2", "0/3"]


def test_a_malformed_value_is_told_apart_whatever_columns_are_asked_for(
    spark: SparkSession, environ: dict[str, str], broker: Broker, topic: str
) -> None:
    broker.produce(topic, [Record(None, '{"id":"a","n":"one"}'), Record(None, '{"id":"b","n":1}')])
    rows = read_batch(spark, source(topic), {}, {topic: {0: 2}}, environ)
    assert [row["id"] for row in rows.where(f"{CORRUPT} IS NULL").select("id").collect()] == ["b"]


def test_a_value_is_parsed_once_also_below_a_filter(
    spark: SparkSession, environ: dict[str, str], topic: str
) -> None:
    rows = read_batch(spark, source(topic), {}, {topic: {0: 0}}, environ)
    plan = executed(rows.where(f"{CORRUPT} IS NULL AND n > 1").select("id", "n"))
    assert plan.count("json.parse(") == 1


def executed(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def taken(spark: SparkSession, rows: DataFrame, checkpoint: Path) -> list[str]:
    """The ids that a query over what is available takes, in order."""
    name = f"q_{uuid.uuid4().hex}"
    query = (
        rows.writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = sorted(row["id"] for row in spark.table(name).collect())
    spark.catalog.dropTempView(name)
    return found


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "a1 a2 a3 b1 b2"),
        ({"startingOffsets": "latest"}, ""),
        ({"startingOffsets": {"T": {0: 1, 1: -2}}}, "a2 a3 b1 b2"),
        ({"startingOffsets": {"T": {0: -1, 1: 1}}}, "b2"),
        ({"startingTimestamp": 2000}, "a2 a3 b2"),
        ({"startingOffsetsByTimestamp": {"T": {0: 3000, 1: 1}}}, "a3 b1 b2"),
        ({"startingTimestamp": 2500, "startingOffsetsByTimestampStrategy": "latest"}, "a3"),
        ({"subscribe": "T"}, "a1 a2 a3 b1 b2"),
        ({"subscribePattern": "^T$"}, "a1 a2 a3 b1 b2"),
        ({"assign": {"T": [1]}}, "b1 b2"),
        ({"maxOffsetsPerTrigger": 2}, "a1 a2 a3 b1 b2"),
        ({"minOffsetsPerTrigger": 2, "maxTriggerDelay": "1s"}, "a1 a2 a3 b1 b2"),
        ({"minPartitions": 4}, "a1 a2 a3 b1 b2"),
        ({"maxRecordsPerPartition": 1}, "a1 a2 a3 b1 b2"),
        ({"options": {"groupIdPrefix": "mill"}}, "a1 a2 a3 b1 b2"),
    ],
)
def test_a_query_begins_and_reads_where_the_spec_says(
    spark: SparkSession,
    environ: dict[str, str],
    broker: Broker,
    topic: str,
    tmp_path: Path,
    given: dict[str, Any],
    expected: str,
) -> None:
    broker.delete_topic(topic)
    broker.create_topic(topic, 2)
    for partition, letter, count in ((0, "a", 3), (1, "b", 2)):
        for number in range(1, count + 1):
            value = json.dumps({"id": f"{letter}{number}"})
            record = Record(None, value, timestamp_ms=1000 * number, partition=partition)
            broker.produce(topic, [record])
    for key, value in NAMED_SOURCES.items():
        spark.conf.set(key, value)
    named = json.loads(json.dumps(given).replace('"T"', f'"{topic}"').replace("^T$", f"^{topic}$"))
    given_source = source(topic, **named)
    rows = stream(spark, "events", given_source, Spec(sources={"events": given_source}), environ)
    assert taken(spark, rows, tmp_path / "checkpoint") == expected.split()
