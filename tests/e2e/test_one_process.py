"""Ingest, gate and publish of pipelines in one process, as Airflow submits a small ingest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.pipelines.json_pipeline import SUITE, JsonPipeline
from tidemill.contract import report as reports
from tidemill.contract.handover import take_over
from tidemill.contract.report import Outcome, Report, Step
from tidemill.main import main

RUN = "scheduled__1"
SAME = "def transform(rows):\n    return rows\n"
CALM: dict[str, Any] = {
    **SUITE,
    "expectations": [
        {
            "type": "expect_column_values_to_be_in_set",
            "kwargs": {"column": "word", "value_set": ["calm"]},
            "meta": {},
        }
    ],
}


@pytest.fixture
def pipelines(
    tmp_path: Path, spark: object, monkeypatch: pytest.MonkeyPatch
) -> tuple[JsonPipeline, JsonPipeline]:
    """Two with the same input in one root; what has arrived passes the suite of the first alone."""
    both = [
        JsonPipeline(
            tmp_path,
            {name: "at timestamp, word string"},
            {"event_time": {"column": "at"}, "transform": name},
            SAME,
            suite,
            name,
        )
        for name, suite in (("tides", SUITE), ("gauges", CALM))
    ]
    for variable in ("TIDEMILL_ROOT", "TIDEMILL_PROJECTS"):
        monkeypatch.setenv(variable, both[0].environ[variable])
    # The handlers of this process are pytest's.
    monkeypatch.setattr("tidemill.main.signal.signal", lambda *_: None)
    for one in both:
        one.arrive(one.name, "first", [{"at": "2026-03-01T00:00:00Z", "word": "storm"}])
    return both[0], both[1]


def report_of(flow: JsonPipeline, step: Step) -> Report | None:
    return reports.read(flow.layout.run(RUN), step)


def test_each_pipeline_is_judged_and_published_by_itself(
    pipelines: tuple[JsonPipeline, JsonPipeline],
) -> None:
    tides, gauges = pipelines
    assert main(["doctor", "tides", "gauges", "--run-id", RUN]) == 0
    assert main(["ingest", "tides", "gauges", "--run-id", RUN, "--through", "publish"]) == 0
    assert (tides.published("word"), gauges.published("word")) == ([("storm",)], [])

    verdict = report_of(tides, "gate")
    held = take_over(gauges.layout.run(RUN), "gate")
    assert (held and held.outcome, report_of(gauges, "publish")) == (Outcome.HELD, None)
    offered = [take_over(tides.layout.run(RUN), step) for step in ("doctor", "gate", "publish")]
    assert [one and one.outcome for one in offered] == [Outcome.DONE] * 3

    # The suite is corrected, and the gate of this pipeline is cleared.
    gauges.suite = SUITE
    gauges.write()
    assert main(["gate", "gauges", "--run-id", RUN, "--no-spark"]) == 0
    assert main(["publish", "gauges", "--run-id", RUN, "--no-spark"]) == 0
    assert gauges.published("word") == [("storm",)]
    assert report_of(tides, "gate") == verdict


def test_nothing_follows_an_ingest_that_failed(
    pipelines: tuple[JsonPipeline, JsonPipeline],
) -> None:
    tides, gauges = pipelines
    torn = "def transform(rows):\n    return rows.selectExpr('CAST(word AS INT) AS number')\n"
    gauges.write(transform=torn)
    assert main(["ingest", "tides", "gauges", "--run-id", RUN, "--through", "publish"]) != 0
    assert tides.published("word") == [("storm",)]
    assert (report_of(gauges, "gate"), report_of(gauges, "publish")) == (None, None)


def test_a_task_that_finds_no_offer_finds_its_increment_published(
    pipelines: tuple[JsonPipeline, JsonPipeline],
) -> None:
    tides, _ = pipelines
    assert main(["ingest", "tides", "--run-id", RUN, "--through", "publish"]) == 0
    for step in ("gate", "publish"):
        (tides.layout.run(RUN) / f"{step}.offered").unlink()
        assert main([step, "tides", "--run-id", RUN, "--no-spark"]) == 0
    found = [report_of(tides, "gate"), report_of(tides, "publish")]
    assert [one and one.outcome for one in found] == [Outcome.DONE] * 2
    assert tides.published("word") == [("storm",)]


def test_a_gate_that_needs_spark_is_left_to_its_own_task(
    pipelines: tuple[JsonPipeline, JsonPipeline],
) -> None:
    tides, _ = pipelines
    tides.write(gate={"in_process_max": "1 B"})
    assert main(["ingest", "tides", "--run-id", RUN, "--through", "publish"]) == 0
    assert take_over(tides.layout.run(RUN), "gate") is None
    assert tides.published("word") == []


def test_an_earlier_verdict_is_withdrawn_when_the_ingest_runs_again(
    pipelines: tuple[JsonPipeline, JsonPipeline],
) -> None:
    tides, _ = pipelines
    assert main(["ingest", "tides", "--run-id", RUN, "--through", "publish"]) == 0
    assert main(["ingest", "tides", "--run-id", RUN]) == 0
    assert take_over(tides.layout.run(RUN), "gate") is None
