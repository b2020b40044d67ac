"""What a pipeline keeps is shown as Spark's state data source has it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome
from tidemill.spark_logs.state_metadata import state_operators
from tidemill.steps.read_only.state import NoState, show_state

EVENTS = "at timestamp, word string"
SPEC: dict[str, Any] = {"event_time": {"column": "at", "watermark": "10 minutes"}}
COUNTS = """
from pyspark.sql import functions as F


def transform(events):
    return events.groupBy(F.window("at", "10 minutes"), "word").count()
"""
JOIN = """
from pyspark.sql import functions as F


def transform(left, right):
    right = right.select(F.col("at").alias("answered"), F.col("word").alias("answer"))
    bound = "word = answer AND answered BETWEEN at AND at + INTERVAL 1 HOUR"
    return left.join(right, F.expr(bound))
"""
OWN = """
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor


class Seen(StatefulProcessor):
    def init(self, handle):
        self.handle = handle
        self.count = handle.getValueState("count", "n long")

    def handleInputRows(self, key, rows, timerValues):
        self.count.update((sum(1 for _ in rows),))
        self.handle.registerTimer(4_000_000_000_000)
        yield Row(word=key[0])

    def close(self):
        pass


def transform(events):
    return events.groupBy("word").transformWithState(Seen(), "word string", "append", "EventTime")
"""


def at(time: str, word: str = "tide") -> dict[str, str]:
    return {"at": f"2026-03-01T{time}:00Z", "word": word}


def ingested(flow: JsonPipeline) -> JsonPipeline:
    report = flow.step("ingest", "first")
    assert report.outcome is Outcome.DONE, report.error
    return flow


def test_open_windows_are_shown_by_key(tmp_path: Path, spark: object) -> None:
    flow = JsonPipeline(tmp_path, {"events": EVENTS}, SPEC, COUNTS)
    flow.arrive("events", "a", [at("12:01"), at("12:02"), at("12:05", "mill")])
    ingested(flow)
    (operator,) = state_operators(flow.layout, FIRST_GENERATION)
    assert (operator.operator, operator.name) == (0, "stateStoreSave")
    (part,) = show_state("flow", None, 10, flow.environ)
    assert part.columns == ("key", "value", "partition_id")
    found = {row["key"]["word"]: row["value"]["count"] for row in part.rows}
    assert found == {"tide": 2, "mill": 1}
    starts = {row["key"]["window"]["start"] for row in part.rows}
    assert starts == {datetime(2026, 3, 1, 12, tzinfo=UTC)}
    (first,) = show_state("flow", 0, 1, flow.environ)
    assert len(first.rows) == 1
    with pytest.raises(NoState) as refused:
        show_state("flow", 7, 10, flow.environ)
    assert refused.value.data["operators"] == [0]


def test_of_a_join_both_sides_are_shown(tmp_path: Path, spark: object) -> None:
    flow = JsonPipeline(tmp_path, {"left": EVENTS, "right": EVENTS}, SPEC, JOIN)
    flow.arrive("left", "a", [at("12:01"), at("12:02", "mill")])
    flow.arrive("right", "b", [at("12:05")])
    ingested(flow)
    sides = {part.part: part.rows for part in show_state("flow", None, 10, flow.environ)}
    assert {row["value"]["word"] for row in sides["left"]} == {"tide", "mill"}
    assert {row["value"]["answer"] for row in sides["right"]} == {"tide"}


def test_of_state_of_ones_own_each_variable_and_the_timers_are_shown(
    tmp_path: Path, spark: object
) -> None:
    flow = JsonPipeline(tmp_path, {"events": EVENTS}, SPEC, OWN)
    flow.arrive("events", "a", [at("12:01"), at("12:02")])
    ingested(flow)
    parts = {part.part: part.rows for part in show_state("flow", None, 10, flow.environ)}
    assert set(parts) == {"count", "timers"}
    assert [(row["key"]["word"], row["value"]["n"]) for row in parts["count"]] == [("tide", 2)]
    assert [row["key"]["word"] for row in parts["timers"]] == ["tide"]


def test_a_pipeline_that_never_ran_keeps_nothing(tmp_path: Path) -> None:
    flow = JsonPipeline(tmp_path, {"events": EVENTS}, SPEC, COUNTS)
    with pytest.raises(NoState) as refused:
        show_state("flow", None, 10, flow.environ)
    assert refused.value.data["operators"] == []
