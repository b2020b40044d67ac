"""Partitions that no event time tells: check and preview say how they are computed again."""

from __future__ import annotations

import pytest

from tests.support.spec_text import minimal, parse
from tidemill.steps.read_only.checks.backfill_notes import backfill_note

UNTIMED = {"event_time:\n  column: at\n": ""}


@pytest.mark.parametrize(
    ("more", "notes"),
    [
        ("", 0),
        ("output: {partition_by: {day: to_date(at)}}\n", 0),
        ("output: {partition_by: {first: 'left(id, 1)', day: to_date(at)}}\n", 0),
        ("output: {partition_by: {day: to_date(window.start)}}\n", 0),
        ("output: {partition_by: {first: 'left(id, 1)'}}\n", 1),
        ("output: {partition_by: {file: _metadata.file_name}}\n", 1),
    ],
)
def test_a_note_where_no_interval_tells_the_partitions(more: str, notes: int) -> None:
    said = [*backfill_note("orders", parse(minimal(more)))]
    assert len(said) == notes
    assert all("--partition" in one for one in said)


def test_a_note_where_there_is_no_event_time() -> None:
    text = minimal("output: {partition_by: {day: to_date(at)}}\n", replace=UNTIMED)
    assert [*backfill_note("orders", parse(text))] != []
