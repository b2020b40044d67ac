"""What may wake a pipeline: sources of its own that can be looked at."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.spec_text import minimal, parse
from tidemill.contract.errors import SpecError

TWO_KINDS = """\
sources:
  orders: {kind: file, format: csv, path: /in/orders, schema: "id string, at timestamp"}
  returns: {kind: file, format: csv, path: /in/returns, schema: "id string, at timestamp"}
  payments: {kind: kafka, subscribe: payments, value: {format: text}}
"""


def field_refused(text: str) -> str | None:
    with pytest.raises(SpecError) as error:
        parse(text)
    field: str | None = error.value.field
    return field


def test_every_source_of_a_kind_wakes_unless_one_is_named() -> None:
    spec = parse(TWO_KINDS + "wake: {files: {poke: 1 min}, kafka: {source: payments}}\n")
    assert spec.wake is not None
    assert spec.wake.sources_of("files", spec.sources) == ("orders", "returns")
    assert spec.wake.sources_of("kafka", spec.sources) == ("payments",)
    assert spec.wake.watches["files"].poke == timedelta(minutes=1)
    assert spec.wake.watches["kafka"].poke == timedelta(seconds=30)


def test_one_named_source_wakes_alone() -> None:
    spec = parse(TWO_KINDS + "wake: {files: {source: returns}}\n")
    assert spec.wake is not None
    assert spec.wake.sources_of("files", spec.sources) == ("returns",)


@pytest.mark.parametrize(
    ("wake", "field"),
    [
        ("{}", "wake"),
        ("{files: {source: payments}}", "wake.files.source"),
        ("{kafka: {source: nowhere}}", "wake.kafka.source"),
        ("{files: {poke: 0s}}", "wake.files.poke"),
        ("{files: {poke: 30}}", "wake.files.poke"),
        ("{file: {}}", "wake.file"),
    ],
)
def test_what_cannot_wake_is_refused_at_its_place(wake: str, field: str) -> None:
    assert field_refused(TWO_KINDS + f"wake: {wake}\n") == field


def test_a_kind_without_a_source_is_refused() -> None:
    assert field_refused(minimal("wake: {kafka: {}}\n")) == "wake.kafka"


def test_an_overdue_feed_needs_a_schedule_to_be_noticed() -> None:
    more = "wake: {files: {}}\nexpect: {every: 1 day}\n"
    assert field_refused(minimal(more)) == "expect"
    assert parse(minimal(more + "schedule: '@daily'\n")).expect is not None
