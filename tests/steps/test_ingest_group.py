"""Several ingests in one Spark application."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome
from tidemill.steps.ingest_group import at_once, ingest_group
from tidemill.storage.run_context import RunContext

COLUMNS = {"events": "at timestamp, word string"}
SAME = "def transform(events):\n    return events\n"
COUNTS = "def transform(events):\n    return events.groupBy('word').count()\n"
TORN = "def transform(events):\n    return events.selectExpr('CAST(word AS INT) AS number')\n"


@pytest.mark.parametrize(("cores", "pipelines"), [(None, 4), (1, 4), (2, 4), (16, 32)])
def test_a_group_has_no_more_pipelines_at_work_than_can_start_their_workers_in_time(
    cores: int | None, pipelines: int
) -> None:
    assert at_once(cores) == pipelines


@pytest.fixture
def flows(tmp_path: Path, spark: object) -> list[JsonPipeline]:
    """One in each output mode, and one whose query fails."""
    time = {"event_time": {"column": "at"}}
    update = {**time, "output": {"mode": "update", "keys": ["word"]}}
    zone = {**time, "timezone": "Europe/London"}
    return [
        JsonPipeline(tmp_path / "a", COLUMNS, zone, SAME, name="plain"),
        JsonPipeline(tmp_path / "b", COLUMNS, update, COUNTS, name="counts"),
        JsonPipeline(tmp_path / "c", COLUMNS, time, TORN, name="torn"),
    ]


SUMS = """
import pandas as pd
from pyspark.sql.streaming import StatefulProcessor


class Count(StatefulProcessor):
    def init(self, handle):
        pass

    def handleInputRows(self, key, rows, timers):
        yield pd.DataFrame({"word": [key[0]], "n": [sum(map(len, rows))]})

    def close(self):
        pass


def transform(events):
    groups = events.groupBy("word")
    return groups.transformWithStateInPandas(Count(), "word string, n int", "update", "None")
"""


def test_a_member_whose_python_workers_were_late_is_tried_again_when_the_others_are_done(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = tmp_path / "python"
    # Spark waits ten seconds for it.
    once = f"mkdir {tmp_path}/met 2>/dev/null && sleep 12"
    say = f'echo "$@" >> {tmp_path}/started'
    late.write_text(f'#!/bin/sh\n{say}\n{once}\nexec {sys.executable} "$@"\n')
    late.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(late))
    update = {"event_time": {"column": "at"}, "output": {"mode": "update", "keys": ["word"]}}
    flow = JsonPipeline(tmp_path / "a", COLUMNS, update, SUMS, name="sums")
    flow.arrive("events", "one", [{"at": "2026-03-01T00:00:00Z", "word": "tide"}])
    (report,) = ingest_group([RunContext(flow.pipeline, "run", lambda _: None)])
    assert report.outcome is Outcome.DONE
    assert (tmp_path / "started").read_text().count("transform_with_state_driver_worker") == 2
    assert [batch.rows for batch in flow.batches] == [1]


def test_each_member_ends_with_a_report_of_its_own(flows: list[JsonPipeline]) -> None:
    for flow in flows:
        flow.arrive("events", "one", [{"at": "2026-03-01T00:00:00Z", "word": "tide"}])
    runs = [RunContext(flow.pipeline, "run", lambda _: None) for flow in flows]
    found = {report.pipeline: report for report in ingest_group(runs)}
    assert {name: report.outcome for name, report in found.items()} == {
        "plain": Outcome.DONE,
        "counts": Outcome.DONE,
        "torn": Outcome.FAILED,
    }
    for flow in flows[:2]:
        assert flow.step("gate", "run").outcome is Outcome.DONE
        assert flow.step("publish", "run").outcome is Outcome.DONE
    assert flows[0].published("word") == [("tide",)]
    assert flows[1].published("word", "count") == [("tide", 1)]
    # As alone: the state is uploaded by its changes.
    assert [*flows[1].layout.checkpoint(FIRST_GENERATION).glob("state/0/*/*.changelog")]
    # The one that failed takes in the same when it is fixed.
    flows[2].write(transform=SAME)
    assert flows[2].go("again").outcome is Outcome.DONE
    assert flows[2].published("word") == [("tide",)]


def test_a_thread_goes_on_with_another_member_after_one_that_failed(
    tmp_path: Path, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemill.steps.ingest_group.at_once", lambda _: 1)
    time = {"event_time": {"column": "at"}}
    flows = [
        JsonPipeline(tmp_path / name, COLUMNS, time, transform, name=name)
        for name, transform in {"torn": TORN, "plain": SAME}.items()
    ]
    for flow in flows:
        flow.arrive("events", "one", [{"at": "2026-03-01T00:00:00Z", "word": "tide"}])
    runs = [RunContext(flow.pipeline, "run", lambda _: None) for flow in flows]
    assert [report.outcome for report in ingest_group(runs)] == [Outcome.FAILED, Outcome.DONE]
    assert [batch.rows for batch in flows[1].batches] == [1]
