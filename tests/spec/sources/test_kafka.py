"""A Kafka source in a spec: what Spark would refuse or pass over is refused when it is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.spec_text import parse
from tidemill.contract.errors import SpecError
from tidemill.spec.sources.kafka import KafkaSource
from tidemill.spec.sources.kafka_value import KafkaValue

SPEC = """\
sources:
  events:
    kind: kafka
    subscribe: events
    value: {format: json, schema: "id string, at timestamp"}
event_time: {column: at}
"""
AVRO = {"type": "record", "name": "event", "fields": [{"name": "id", "type": "string"}]}


def source(**given: Any) -> KafkaSource:
    if not {"subscribe", "subscribePattern", "assign"} & given.keys():
        given["subscribe"] = "events"
    given.setdefault("value", {"schema": "id string, at timestamp"})
    return KafkaSource.model_validate({"kind": "kafka", **given})


def why_refused(**given: Any) -> str:
    with pytest.raises(ValidationError) as refusal:
        source(**given)
    return " ".join(str(error["msg"]) for error in refusal.value.errors())


def test_a_spec_with_a_kafka_source_loads() -> None:
    spec = parse(SPEC)
    assert spec.connections == ("tidemill_kafka",)
    assert spec.sources["events"].columns == ("id", "at")


def test_the_connection_of_a_registry_is_one_of_the_specs() -> None:
    value = {"format": "avro", "schema": json.dumps(AVRO), "registry": "schemas"}
    spec = {"sources": {"events": {"kind": "kafka", "subscribe": "events", "value": value}}}
    assert parse(json.dumps(spec)).connections == ("tidemill_kafka", "schemas")


def test_a_value_without_a_registry_is_written_as_before_there_were_any() -> None:
    read = source(value={"format": "avro", "schema": json.dumps(AVRO)})
    assert "registry" not in read.reading()["value"]
    value = {"format": "avro", "schema": json.dumps(AVRO), "registry": "schemas"}
    assert source(value=value).reading()["value"]["registry"] == "schemas"


@pytest.mark.parametrize(
    "value",
    [
        {"format": "csv", "schema": "id string", "options": {"sep": ";"}},
        {"format": "avro", "schema": json.dumps(AVRO), "registry": "schemas"},
        {"format": "protobuf", "schema": "id string", "registry": "r", "message": "shop.Order"},
    ],
)
def test_a_source_is_read_as_it_was(value: dict[str, Any]) -> None:
    then, today = source(value=value), source(value={"format": "text"})
    assert today.as_read(then.reading()).value == then.value
    assert today.as_read({}).value == today.value


@pytest.mark.parametrize("limit", ["maxOffsetsPerTrigger: 5", "minOffsetsPerTrigger: 5"])
def test_the_trigger_once_ignores_limits_and_so_refuses_them(limit: str) -> None:
    with pytest.raises(SpecError) as error:
        parse(
            SPEC.replace("subscribe: events", f"subscribe: events\n    {limit}") + "trigger: once"
        )
    assert limit.partition(":")[0] in str(error.value)


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"subscribe": "a, b"}, "subscribe", "a,b"),
        ({"subscribe": ["a", "b"]}, "subscribe", "a,b"),
        ({"subscribePattern": r"ev.*\d"}, "subscribePattern", r"ev.*\d"),
        ({"assign": {"a": [0, 2]}}, "assign", '{"a": [0, 2]}'),
        ({}, "startingOffsets", "earliest"),
        ({"startingOffsets": "latest"}, "startingOffsets", "latest"),
        ({"startingOffsets": {"events": {"0": -2}}}, "startingOffsets", '{"events": {"0": -2}}'),
        ({"startingTimestamp": 1}, "startingTimestamp", "1"),
        (
            {"startingOffsetsByTimestamp": {"events": {"0": 7}}},
            "startingOffsetsByTimestamp",
            '{"events": {"0": 7}}',
        ),
        (
            {"startingTimestamp": 1, "startingOffsetsByTimestampStrategy": "latest"},
            "startingOffsetsByTimestampStrategy",
            "latest",
        ),
        ({"maxOffsetsPerTrigger": 9}, "maxOffsetsPerTrigger", "9"),
        ({"minOffsetsPerTrigger": 9}, "minOffsetsPerTrigger", "9"),
        (
            {"minOffsetsPerTrigger": 9, "maxTriggerDelay": "2 minutes"},
            "maxTriggerDelay",
            "120000ms",
        ),
        ({"minPartitions": 9}, "minPartitions", "9"),
        ({"maxRecordsPerPartition": 9}, "maxRecordsPerPartition", "9"),
        ({"include": ["headers"]}, "includeHeaders", "true"),
        ({}, "failOnDataLoss", "true"),
        ({"failOnDataLoss": False}, "failOnDataLoss", "false"),
        ({"options": {"fetchOffset.numRetries": 7}}, "fetchOffset.numRetries", "7"),
        ({"options": {"kafka.group.id": "g"}}, "kafka.group.id", "g"),
        ({"options": {"kafka.max.poll.records": 7}}, "kafka.max.poll.records", "7"),
    ],
)
def test_an_option_reaches_sparks_reader(given: dict[str, Any], name: str, value: str) -> None:
    assert source(**given).reader_options[name] == value


def test_a_timestamp_to_begin_at_stands_alone() -> None:
    assert "startingOffsets" not in source(startingTimestamp=1).reader_options


def test_columns_of_the_record_stand_after_those_of_the_value() -> None:
    assert source(include=["key", "offset"]).columns == ("id", "at", "key", "offset")
    renamed = source(value={"schema": "key string"}, include={"key": "record_key"})
    assert renamed.columns == ("key", "record_key")


def test_the_columns_of_an_avro_value_are_the_fields_of_the_schema_it_is_read_with() -> None:
    value = {"format": "avro", "schema": json.dumps(AVRO)}
    assert source(value=value).columns == ("id",)
    wider = {**AVRO, "fields": [*AVRO["fields"], {"name": "b", "type": "int", "default": 1}]}
    assert source(value={**value, "options": {"avroschema": json.dumps(wider)}}).columns == (
        "id",
        "b",
    )


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"subscribe": "a", "assign": {"a": [0]}}, "exactly one"),
        ({"subscribe": " , "}, "no topic"),
        ({"subscribe": "a b"}, "'a b'"),
        ({"subscribe": [".."]}, "'..'"),
        ({"subscribe": ["a" * 250]}, "249"),
        ({"subscribe": "a,a"}, "twice"),
        ({"include": ["key", "key"]}, "twice"),
        ({"assign": {}}, "no topic"),
        ({"assign": {"a": []}}, "no partition"),
        ({"subscribePattern": ""}, "at least 1"),
        ({"subscribePattern": "("}, "'('"),
        ({"subscribePattern": r"\p{Alpha}+"}, "Java and Python"),
        ({"include": ["key"], "value": {"schema": "Key string"}}, "kafka_key"),
        ({"include": {"key": "_key"}}, "pattern"),
        ({"key_format": "binary"}, "key_format"),
        ({"includeHeaders": True}, "contradict"),
        ({"includeHeaders": False, "include": ["headers"]}, "contradict"),
        ({"startingOffsets": "latest", "startingTimestamp": 1}, "exclude"),
        ({"startingTimestamp": 1, "startingOffsetsByTimestamp": {"events": {0: 1}}}, "exclude"),
        ({"startingOffsetsByTimestampStrategy": "latest"}, "needs a starting timestamp"),
        ({"startingOffsets": {"others": {0: 1}}}, "name each"),
        ({"assign": {"a": [0, 1]}, "startingOffsets": {"a": {0: 1}}}, "name each"),
        ({"minOffsetsPerTrigger": 9, "maxOffsetsPerTrigger": 8}, "higher"),
        ({"maxTriggerDelay": "1 minute"}, "minOffsetsPerTrigger"),
        ({"options": {"endingOffsets": "latest"}}, "not valid in streaming queries"),
        ({"options": {"endingTimestamp": 1}}, "not valid in streaming queries"),
        ({"options": {"endingOffsetsByTimestamp": "{}"}}, "not valid in streaming queries"),
        ({"options": {"kafka.auto.offset.reset": "latest"}}, "startingOffsets"),
        ({"options": {"kafka.key.deserializer": "x"}}, "byte arrays"),
        ({"options": {"kafka.value.deserializer": "x"}}, "byte arrays"),
        ({"options": {"kafka.enable.auto.commit": True}}, "commits no offsets"),
        ({"options": {"kafka.interceptor.classes": "x"}}, "modify"),
        ({"options": {"kafka.bootstrap.servers": "x"}}, "Airflow connection"),
        ({"options": {"kafka.sasl.jaas.config": "x"}}, "Airflow connection"),
        ({"options": {"kafka.ssl.key.password": "x"}}, "Airflow connection"),
        ({"options": {"kafka.isolation.level": "dirty"}}, "read_committed"),
        ({"options": {"groupIdPrefix": "p", "kafka.group.id": "g"}}, "ignored"),
        ({"options": {"MAXOFFSETSPERTRIGGER": 1}}, "field of its own"),
        ({"options": {"fetchOffset.numRetry": 1}}, "fetchOffset.numRetries"),
        ({"options": {"whatever": 1}}, "not one of Spark"),
    ],
)
def test_what_spark_refuses_or_passes_over_is_refused(given: dict[str, Any], word: str) -> None:
    assert word in why_refused(**given)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"format": "json"}, "needs a schema"),
        ({"format": "text", "schema": "a string"}, "remove its schema"),
        ({"format": "binary", "options": {"a": 1}}, "remove its options"),
        ({"schema": "a string, A int"}, "twice"),
        ({"schema": "_origin string"}, "kept for the engine"),
        ({"schema": "a string", "options": {"Mode": "FAILFAST"}}, "set by the engine"),
        ({"schema": "a string", "options": {"sep": ",", "SEP": ";"}}, "twice"),
        ({"format": "avro", "schema": "a string"}, "JSON of a record"),
        ({"format": "avro", "schema": '"string"'}, "JSON of a record"),
        ({"schema": "a string", "registry": "schemas"}, "not for json"),
        ({"format": "avro", "registry": "schemas"}, "needs a schema"),
        ({"format": "protobuf", "registry": "schemas"}, "needs a schema"),
        ({"format": "protobuf", "schema": "a string"}, "needs a registry"),
        ({"schema": "a string", "message": "shop.Order"}, "message is for protobuf"),
        (
            {
                "format": "protobuf",
                "schema": "a string",
                "registry": "schemas",
                "options": {"emit": "all"},
            },
            "has no options",
        ),
        (
            {
                "format": "avro",
                "schema": json.dumps(AVRO),
                "options": {"avroschema": json.dumps(AVRO)},
                "registry": "schemas",
            },
            "'avroSchema' would be a second one",
        ),
        (
            {"format": "avro", "schema": json.dumps({**AVRO, "fields": [{"name": "_Record"}]})},
            "'_Record'",
        ),
        (
            {"format": "avro", "schema": json.dumps({**AVRO, "fields": AVRO["fields"] * 2})},
            "twice",
        ),
    ],
)
def test_a_value_that_cannot_become_columns_is_refused(given: dict[str, Any], word: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        KafkaValue.model_validate(given)
    assert word in str(refusal.value)


def avro(kind: Any) -> dict[str, Any]:
    fields = [{"name": "id", "type": "string"}, {"name": "at", "type": kind}]
    return {"format": "avro", "schema": json.dumps({**AVRO, "fields": fields})}


MICROS = {"type": "long", "logicalType": "timestamp-micros"}


@pytest.mark.parametrize(
    ("given", "column", "fits"),
    [
        ({}, "at", True),
        ({}, "id", False),
        ({"include": {"timestamp": "taken"}}, "taken", True),
        ({"include": {"offset": "place"}}, "place", False),
        ({"value": avro(MICROS)}, "at", True),
        ({"value": avro(["null", MICROS])}, "at", True),
        ({"value": avro("long")}, "at", False),
        ({"value": {"format": "text"}}, "value", False),
    ],
)
def test_a_watermark_stands_on_a_timestamp(given: dict[str, Any], column: str, fits: bool) -> None:
    read = {"kind": "kafka", "subscribe": "events", "value": {"schema": "id string, at timestamp"}}
    spec = {"sources": {"events": {**read, **given}}, "event_time": {"column": column}}
    parse(json.dumps(spec))
    spec["event_time"]["watermark"] = "1 hour"
    if fits:
        parse(json.dumps(spec))
        return
    with pytest.raises(SpecError) as refused:
        parse(json.dumps(spec))
    assert refused.value.field == "event_time.column"


def test_new_fields_of_json_values_are_rescued_in_a_column_and_are_for_json_alone() -> None:
    rescuing = source(value={"schema": "id string, at timestamp", "new_fields": {"rescue": "rest"}})
    assert rescuing.columns == ("id", "at", "rest")
    assert rescuing.type_of("rest") == "string"
    ignoring = source()
    assert "new_fields" not in ignoring.reading()["value"]
    assert rescuing.as_read(ignoring.reading()).columns == ("id", "at")
    assert ignoring.as_read(rescuing.reading()) == rescuing
    csv = {"format": "csv", "schema": "id string", "new_fields": "refuse"}
    assert "it is for json" in why_refused(value=csv)
    taken = {"schema": "id string", "new_fields": {"rescue": "ID"}}
    assert "a column already" in why_refused(value=taken)
