"""Triggers of running queries: how they are written, and what Spark combines them with."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.spec_text import parse
from tidemill.spec.stream_trigger import (
    TriggerKind,
    TriggerUnknown,
    TriggerUnsupported,
    parse_trigger,
    refuse_unsupported,
)

KAFKA = "{kind: kafka, subscribe: in, value: {format: text}}"
FILE = "{kind: file, format: text, path: /in, schema: value string}"
SINKS = ("kafka", "console", "foreach", "foreach_batch", "memory")


def refused(trigger: str, source: str, sink: str | None, mode: str = "append") -> Any:
    """Where a combination is refused, or None."""
    lines = [f"sources: {{one: {source}}}", f"output: {{mode: {mode}}}"]
    if sink is not None:
        lines.append(f"sink: {{kind: {sink}}}")
    elif mode == "update":
        lines[1] = "output: {mode: update, keys: [value]}"
    try:
        refuse_unsupported(parse_trigger(trigger), parse("\n".join(lines)))
    except TriggerUnsupported as error:
        return error.at
    return None


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("default", {}),
        ("processing-time=10s", {"processingTime": "10 seconds"}),
        ("processing_time=2 minutes", {"processingTime": "120 seconds"}),
        ("available-now", {"availableNow": True}),
        ("once", {"once": True}),
        ("continuous=1s", {"continuous": "1 seconds"}),
        ("real-time=5m", {"realTime": "300 seconds"}),
    ],
)
def test_a_trigger_is_written_as_spark_takes_it(text: str, arguments: dict[str, Any]) -> None:
    assert parse_trigger(text).arguments == arguments


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hourly",
        "once=1s",
        "default=",
        "continuous",
        "continuous=soon",
        "processing-time=10",
        "processing-time=0s",
        "real-time=",
    ],
)
def test_what_is_no_trigger_is_refused(text: str) -> None:
    with pytest.raises(TriggerUnknown) as error:
        parse_trigger(text)
    assert error.value.given == text


@pytest.mark.parametrize("trigger", ["default", "processing-time=1s", "available-now", "once"])
@pytest.mark.parametrize("source", [KAFKA, FILE])
@pytest.mark.parametrize("sink", [*SINKS, None])
@pytest.mark.parametrize("mode", ["append", "update", "complete"])
def test_a_trigger_by_batch_runs_with_every_source_sink_and_mode(
    trigger: str, source: str, sink: str | None, mode: str
) -> None:
    assert refused(trigger, source, sink, mode) is None


def test_once_would_ignore_a_rate_limit() -> None:
    limited = FILE.replace("}", ", maxFilesPerTrigger: 1}")
    assert refused("once", limited, "console") == "sources.one.maxFilesPerTrigger"


@pytest.mark.parametrize("sink", ["kafka", "console", "memory"])
@pytest.mark.parametrize("source", [KAFKA, "{kind: rate}", "{kind: socket, port: 9}"])
def test_continuous_runs_from_these_sources_to_these_sinks(source: str, sink: str) -> None:
    assert refused("continuous=1s", source, sink) is None


@pytest.mark.parametrize(
    ("source", "sink", "mode", "at"),
    [
        (KAFKA, None, "append", "publish"),
        (KAFKA, None, "update", "publish"),
        (KAFKA, "foreach", "append", "sink"),
        (KAFKA, "foreach_batch", "append", "sink"),
        (KAFKA, "console", "complete", "output.mode"),
        (FILE, "console", "append", "sources.one"),
        ("{kind: rate-micro-batch, rowsPerBatch: 2}", "console", "append", "sources.one"),
        ("{kind: python, data_source: 'a.b:C', schema: a int}", "console", "append", "sources.one"),
        (
            "{kind: rate, event_time: {column: timestamp, watermark: 1 day}}",
            "console",
            "append",
            "event_time.watermark",
        ),
    ],
)
def test_continuous_is_refused_where_spark_refuses_it(
    source: str, sink: str | None, mode: str, at: str
) -> None:
    assert refused("continuous=1s", source, sink, mode) == at


def test_continuous_reads_one_source() -> None:
    spec = parse(f"sources: {{one: {KAFKA}, two: {KAFKA}}}\nsink: {{kind: console}}\n")
    with pytest.raises(TriggerUnsupported) as error:
        refuse_unsupported(parse_trigger("continuous=1s"), spec)
    assert error.value.at == "sources"


@pytest.mark.parametrize("sink", ["kafka", "console", "foreach"])
def test_real_time_runs_from_kafka_in_mode_update(sink: str) -> None:
    assert refused("real-time=5s", KAFKA, sink, "update") is None


@pytest.mark.parametrize(
    ("trigger", "source", "sink", "mode", "at"),
    [
        ("real-time=4s", KAFKA, "console", "update", "--trigger"),
        ("real-time=5s", KAFKA, "console", "append", "output.mode"),
        ("real-time=5s", KAFKA, "console", "complete", "output.mode"),
        ("real-time=5s", FILE, "console", "update", "sources.one"),
        ("real-time=5s", "{kind: rate}", "console", "update", "sources.one"),
        ("real-time=5s", KAFKA, "foreach_batch", "update", "sink"),
        ("real-time=5s", KAFKA, "memory", "update", "sink"),
        ("real-time=5s", KAFKA, None, "update", "publish"),
    ],
)
def test_real_time_is_refused_where_spark_refuses_it(
    trigger: str, source: str, sink: str | None, mode: str, at: str
) -> None:
    assert refused(trigger, source, sink, mode) == at


@pytest.mark.parametrize(
    ("trigger", "mode"), [("continuous=1s", "append"), ("real-time=5s", "update")]
)
def test_neither_decodes_by_a_python_function_that_waits_for_many_rows(
    trigger: str, mode: str
) -> None:
    value = "value: {format: protobuf, schema: id string, registry: schemas}"
    source = f"{{kind: kafka, subscribe: topic, {value}}}"
    assert refused(trigger, source, "console", mode) == "sources.one.value.format"


def test_only_short_batches_can_be_stopped_between() -> None:
    kinds = [kind for kind in TriggerKind if kind not in ("continuous", "real-time")]
    texts = {"processing-time": "processing-time=1s"}
    assert all(parse_trigger(texts.get(kind, kind)).by_batch for kind in kinds)
    assert not parse_trigger("continuous=1s").by_batch
    assert not parse_trigger("real-time=5s").by_batch
