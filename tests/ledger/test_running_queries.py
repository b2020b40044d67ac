"""Running queries: documents that are replaced as batches come, and believed only of the living."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tidemill.contract.layout import Layout
from tidemill.ledger.running_queries import (
    Running,
    RunningQuery,
    clear_dead,
    running,
    running_anywhere,
)
from tidemill.storage.processes import ProcessId, this_process

DEAD = this_process().model_copy(update={"started": 0.0})


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path, "orders")


def write(layout: Layout, run_id: str = "run", process: ProcessId | None = None) -> Running:
    place = Running(layout, run_id)
    now = datetime.now(UTC)
    place.write(
        RunningQuery(
            pipeline=layout.name,
            run_id=run_id,
            query_id="query",
            query_run_id="start",
            process=process or this_process(),
            since=now,
            trigger="default",
            written=now,
        )
    )
    return place


def test_a_document_is_replaced_and_cleared(layout: Layout) -> None:
    place = write(layout)
    (first,) = running(layout)
    place.write(first.model_copy(update={"batches": 3}))
    assert [query.batches for query in running(layout)] == [3]
    place.clear()
    assert running(layout) == []


def test_a_dead_process_runs_no_query(layout: Layout) -> None:
    dead = write(layout, "killed", DEAD)
    alive = write(layout, "alive")
    assert [query.run_id for query in running(layout)] == ["alive"]
    clear_dead(layout)
    assert not dead.document.exists()
    assert alive.document.exists()


@pytest.mark.parametrize("damage", ["", "{", '{"pipeline": "orders"}', "\0" * 64])
def test_a_torn_document_stops_nobody_and_goes_with_the_dead(layout: Layout, damage: str) -> None:
    torn = write(layout, "power cut")
    torn.document.write_text(damage)
    torn.ask_to_stop()
    alive = write(layout, "alive")
    assert [query.run_id for query in running(layout)] == ["alive"]
    clear_dead(layout)
    assert list(layout.streams.iterdir()) == [alive.document]


def test_asking_to_stop_reaches_the_run_that_is_asked(layout: Layout) -> None:
    one, other = write(layout, "scheduled__2026-03-01T00:00:00+00:00"), write(layout, "other/run")
    one.ask_to_stop()
    assert Running(layout, "scheduled__2026-03-01T00:00:00+00:00").asked_to_stop
    assert not other.asked_to_stop
    one.clear()
    assert not one.asked_to_stop


def test_the_queries_of_every_pipeline_are_found(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    for name in ("orders", "payments"):
        write(Layout(tmp_path, name))
    assert [query.pipeline for query in running_anywhere(tmp_path)] == ["orders", "payments"]
    assert running_anywhere(tmp_path / "missing") == []


@pytest.mark.parametrize(
    ("stands", "words"),
    [
        ({}, "0 batches written"),
        (
            {"done": 0.0, "tasks": (12, 40)},
            "0 batches written, 0% of what waited is read, batch at work: 12 of 40 tasks",
        ),
        (
            {"batches": 1, "done": 0.25, "rows_per_second": 1240.0, "seconds_left": 42.0},
            "1 batch written, 25% of what waited is read, 1,240 rows/s, about 42 s left",
        ),
        ({"batches": 2, "seconds_left": 7500.0}, "2 batches written, about 2 h 5 min left"),
    ],
)
def test_how_far_a_query_is_in_words(layout: Layout, stands: dict[str, Any], words: str) -> None:
    write(layout)
    (query,) = running(layout)
    assert query.model_copy(update=stands).how_far == words
