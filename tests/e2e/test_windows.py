"""Windows in mode append, from files to the table: closed by the watermark, a wake or a flush."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.windowed_words import at, windows
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Outcome
from tidemill.ledger.generation_note import read_note
from tidemill.steps.decisions.flush import flush


def counts(flow: JsonPipeline) -> list[tuple[str, str, int]]:
    found = flow.published("window", "word", "count")
    return [(f"{window['start']:%H:%M}", word, count) for window, word, count in found]


def test_a_window_is_published_when_the_watermark_has_passed_it(
    tmp_path: Path, spark: object
) -> None:
    flow = windows(tmp_path)
    flow.arrive("events", "a", [at("12:01"), at("12:09"), at("12:02", "mill"), at("12:14")])
    flow.go("first")
    assert counts(flow) == []
    flow.arrive("events", "b", [at("12:21"), at("12:05")])
    flow.go("second")
    assert counts(flow) == [("12:00", "mill", 1), ("12:00", "tide", 3)]
    assert {row[0] for row in flow.published("day")} == {date(2026, 3, 1)}
    # Too late for the window, which is published.
    flow.arrive("events", "c", [at("12:03"), at("12:35", "mill")])
    flow.go("third")
    assert counts(flow)[2:] == [("12:10", "tide", 1)]


def test_its_class_is_in_the_note_of_the_generation(tmp_path: Path, spark: object) -> None:
    flow = windows(tmp_path)
    flow.arrive("events", "a", [at("12:01")])
    flow.go("first")
    note = read_note(flow.layout, FIRST_GENERATION)
    assert note is not None
    assert note.pipeline_class is PipelineClass.WINDOW


def test_what_is_due_is_worked_off_by_a_run_without_input(tmp_path: Path, spark: object) -> None:
    flow = windows(tmp_path, trigger="once")
    flow.arrive("events", "a", [at("12:01"), at("12:25")])
    # `once` takes no batch after the one that moved the watermark.
    flow.go("first")
    assert counts(flow) == []
    assert flow.batches[-1].wake == "next_run"
    second = flow.run("second")
    assert second["doctor"].facts["work"][0]["kind"] == "wake"
    assert second["ingest"].facts["rows_in"] == [0]
    assert counts(flow) == [("12:00", "tide", 1)]
    assert flow.run("third")["doctor"].outcome is Outcome.SKIPPED


def test_a_flush_closes_what_is_open(tmp_path: Path, spark: object) -> None:
    flow = windows(tmp_path)
    flow.arrive("events", "a", [at("12:01"), at("12:05")])
    flow.go("first")
    assert counts(flow) == []
    to = datetime(2026, 3, 1, 12, 10, tzinfo=UTC)
    asked = flush(flow.pipeline, to, by="ada", reason="the feed has ended", run_id="flush")
    assert flow.run("second")["doctor"].facts["work"][0]["kind"] == "wake"
    assert counts(flow) == [("12:00", "tide", 2)]
    (done,) = [batch for batch in flow.batches if batch.batch == asked.batch]
    assert done.watermark_before_ms == to.timestamp() * 1000
    # What comes now for the window is late, as it would be by a watermark that got there itself.
    flow.arrive("events", "b", [at("12:08"), at("12:11")])
    flow.go("third")
    assert counts(flow) == [("12:00", "tide", 2)]
