"""Sinks of Spark's own: what a spec may say of them, and what excludes what."""

from __future__ import annotations

import pytest

from tests.support.spec_text import parse
from tidemill.contract.errors import SpecError
from tidemill.spec.sinks import KafkaSink

FILE = "{kind: file, format: csv, path: /in/orders, schema: 'id string, at timestamp'}"
RATE = "{kind: rate}"


def spec(sink: str, more: str = "", source: str = FILE) -> str:
    return f"sources: {{orders: {source}}}\nsink: {sink}\n{more}\n"


def field_refused(text: str) -> str | None:
    with pytest.raises(SpecError) as error:
        parse(text)
    field: str | None = error.value.field
    return field


@pytest.mark.parametrize(
    "sink",
    [
        "{kind: kafka, topic: out}",
        "{kind: kafka, options: {includeHeaders: true, kafka.acks: all}}",
        "{kind: foreach}",
        "{kind: foreach_batch, persist: true}",
        "{kind: console, numRows: 5, truncate: false}",
        "{kind: memory, table: seen}",
    ],
)
@pytest.mark.parametrize("mode", ["append", "update", "complete"])
@pytest.mark.parametrize("source", [FILE, RATE])
def test_every_sink_takes_every_mode_from_every_source(sink: str, mode: str, source: str) -> None:
    assert not parse(spec(sink, f"output: {{mode: {mode}}}", source)).published


def test_offsets_are_committed_to_a_group_only_where_rows_are_published() -> None:
    kafka = "{kind: kafka, subscribe: t, value: {schema: 'id string'}, commit_to_group: mill}"
    found = field_refused(spec("{kind: console}", source=kafka))
    assert found == "sources.orders.commit_to_group"


def test_options_of_the_kafka_sink_are_text_for_spark() -> None:
    sink = parse(spec("{kind: kafka, topic: out, options: {includeHeaders: true}}")).sink
    assert isinstance(sink, KafkaSink)
    assert sink.writer_options == {"includeHeaders": "true", "topic": "out"}


@pytest.mark.parametrize(
    "option",
    [
        "kafka.sasl.jaas.config: x",
        "KAFKA.SSL.keystore.password: x",
        "kafka.bootstrap.servers: 'broker:9092'",
        "kafka.value.serializer: x",
        "topic: out",
        "includeHeader: true",
        "asyncProgressTrackingEnabled: true",
        "kafka.acks: all, Kafka.Acks: none",
    ],
)
def test_an_option_that_spark_would_ignore_or_must_not_see_is_refused(option: str) -> None:
    assert field_refused(spec(f"{{kind: kafka, options: {{{option}}}}}")) == "sink.options"


@pytest.mark.parametrize(
    ("output", "field"),
    [
        ("{partition_by: {day: to_date(at)}}", "output.partition_by"),
        ("{format: json}", "output.format"),
        ("{maxRecordsPerFile: 5}", "output.maxRecordsPerFile"),
        ("{keys: [id]}", "output.keys"),
    ],
)
def test_what_is_for_files_is_refused_beside_a_sink(output: str, field: str) -> None:
    more = f"output: {output}\nevent_time: {{column: at}}"
    assert field_refused(spec("{kind: console}", more)) == field


@pytest.mark.parametrize(
    "part",
    ["publish: [{kind: delta}]", "gate: {samples: 3}", "decisions: {four_eyes: true}"],
)
def test_a_sink_excludes_gate_and_targets(part: str) -> None:
    assert field_refused(spec("{kind: console}", part)) == part.partition(":")[0]


@pytest.mark.parametrize("source", [RATE, "{kind: socket, port: 9999}"])
def test_bytes_are_a_budget_of_files_only(source: str) -> None:
    text = spec("{kind: console}", "budget: {max_bytes: 1 MiB}", source)
    assert field_refused(text) == "budget.max_bytes"


def test_a_budget_bounds_something() -> None:
    assert field_refused(spec("{kind: console}", "budget: {}")) == "budget"


@pytest.mark.parametrize(
    "source", [RATE, "{kind: socket, port: 9}", "{kind: rate-micro-batch, rowsPerBatch: 2}"]
)
def test_rows_that_cannot_be_read_again_are_not_published(source: str) -> None:
    assert field_refused(f"sources: {{tries: {source}}}\n") == "sources.tries"
