"""Sources for trying things: their fields are Spark's options; nothing of theirs is published."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.spec_text import parse
from tidemill.contract.errors import SpecError
from tidemill.spec.sources.testing import TrialSource
from tidemill.spec.spec import Spec

SINK = "sink: {kind: console}\n"


def spec(source: str, rest: str = SINK) -> Spec:
    return parse(f"sources:\n  trial: {{{source}}}\n{rest}")


def source(text: str) -> TrialSource:
    found = spec(text).sources["trial"]
    assert isinstance(found, TrialSource)
    return found


@pytest.mark.parametrize(
    ("text", "options", "columns", "origin"),
    [
        ("kind: rate", {}, ("timestamp", "value"), "rate"),
        (
            "kind: rate, rowsPerSecond: 5, rampUpTime: 2 minutes, numPartitions: 2",
            {"rowsPerSecond": "5", "rampUpTime": "120s", "numPartitions": "2"},
            ("timestamp", "value"),
            "rate",
        ),
        (
            "kind: rate-micro-batch, rowsPerBatch: 3, startTimestamp: 1000",
            {"rowsPerBatch": "3", "startTimestamp": "1000"},
            ("timestamp", "value"),
            "rate-micro-batch",
        ),
        (
            "kind: socket, host: localhost, port: 9999, includeTimestamp: true",
            {"host": "localhost", "port": "9999", "includeTimestamp": "true"},
            ("value", "timestamp"),
            "socket:localhost:9999",
        ),
        (
            "kind: socket, port: 9999",
            {"host": "127.0.0.1", "port": "9999"},
            ("value",),
            "socket:127.0.0.1:9999",
        ),
    ],
)
def test_what_is_given_goes_to_spark(text: str, options: Any, columns: Any, origin: str) -> None:
    found = source(text)
    assert (found.reader_options, found.columns, found.origin) == (options, columns, origin)
    assert not found.replayable


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("kind: rate, options: {rowsPerSecond: 1}", "sources.trial.options"),
        ("kind: rate, rowsPerSecond: 0", "sources.trial.rowsPerSecond"),
        ("kind: rate, rowsPerSeconds: 1", "sources.trial.rowsPerSeconds"),
        ("kind: socket, port: 70000", "sources.trial.port"),
    ],
)
def test_what_spark_does_not_know_is_refused(text: str, field: str) -> None:
    with pytest.raises(SpecError) as error:
        spec(text)
    assert error.value.field == field


@pytest.mark.parametrize(
    "text", ["kind: rate", "kind: rate-micro-batch, rowsPerBatch: 1", "kind: socket, port: 1"]
)
def test_what_cannot_be_replayed_is_not_published(text: str) -> None:
    with pytest.raises(SpecError) as error:
        spec(text, rest="")
    assert error.value.field == "sources.trial"
