"""The budget of a run: it ends between two batches, says what is left, and the next goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.pipelines.ungated_pipeline import COUNTS, IDENTITY, UngatedPipeline, done, noting

LINE = "word,1"


def filled(home: Path, budget: dict[str, Any], files: int = 4, **parts: Any) -> UngatedPipeline:
    """A pipeline with files of one line each, which it reads one by one."""
    more = {"budget": budget, **parts.pop("more", {})}
    pipeline = UngatedPipeline(home, parts.pop("sink", {"kind": "console"}), more=more, **parts)
    for number in range(files):
        pipeline.deliver(f"{number}.csv", LINE)
    return pipeline


PUBLISHED: dict[str, dict[str, Any]] = {
    "files": {"sink": None},
    "update": {
        "sink": None,
        "code": COUNTS,
        "more": {"output": {"mode": "update", "keys": ["word"]}},
    },
    "complete": {"sink": None, "code": COUNTS, "more": {"output": {"mode": "complete"}}},
    "sink": {},
}


@pytest.mark.parametrize("parts", PUBLISHED.values(), ids=PUBLISHED)
def test_a_run_takes_as_many_batches_as_it_may_and_the_next_goes_on(
    tmp_path: Path, spark: SparkSession, parts: dict[str, Any]
) -> None:
    pipeline = filled(tmp_path, {"max_batches": 3}, files=4, **parts)
    first = pipeline.run("first")
    # Nothing is planned that is not committed: no batch was cut.
    assert pipeline.logged == ([0, 1, 2], [0, 1, 2])
    assert first.facts["batches"] == [0, 1, 2]
    assert first.facts["stopped"] == "budget.max_batches"
    left = first.facts["left"]["lines"]
    assert (left["new"], left["unit"], left["bytes"]) == (1, "files", len(LINE) + 1)
    second = pipeline.run("second")
    assert (second.facts["batches"], second.facts["stopped"]) == ([3], None)
    assert second.facts["left"] == {}
    assert done([first, second])


def test_a_run_ends_with_the_batch_that_reaches_its_bytes(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = filled(tmp_path, {"max_bytes": 2 * (len(LINE) + 1)})
    facts = pipeline.run("first").facts
    assert (facts["batches"], facts["stopped"]) == ([0, 1], "budget.max_bytes")


def test_a_run_finishes_the_batch_at_work_when_its_time_is_up(
    tmp_path: Path, spark: SparkSession
) -> None:
    code = IDENTITY + noting(tmp_path) + "def foreach_batch(rows, batch_id):\n"
    code += "    import time\n    time.sleep(0.5)\n    note([batch_id, rows.count()])\n"
    sink = {"kind": "foreach_batch"}
    pipeline = filled(tmp_path, {"max_minutes": 0.001}, sink=sink, code=code)
    facts = pipeline.run("first").facts
    assert (facts["batches"], facts["stopped"]) == ([0], "budget.max_minutes")
    assert pipeline.logged == ([0], [0])
    assert pipeline.notes() == [[0, 1]]


def test_a_budget_that_is_used_up_with_the_data_leaves_nothing(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = filled(tmp_path, {"max_batches": 2}, files=2)
    facts = pipeline.run("first").facts
    assert (facts["batches"], facts["stopped"], facts["left"]) == ([0, 1], None, {})


WINDOWS = """
from pyspark.sql import functions as F

def transform(rows):
    at = F.timestamp_seconds("number")
    windows = rows.withColumn("at", at).withWatermark("at", "10 seconds")
    return windows.groupBy(F.window("at", "10 seconds")).count().select("count")

def foreach_batch(rows, batch_id):
    note([batch_id, [row["count"] for row in rows.collect()]])
"""


def test_the_batch_without_data_that_closes_windows_is_no_further_batch(
    tmp_path: Path, spark: SparkSession
) -> None:
    sink = {"kind": "foreach_batch"}
    pipeline = filled(
        tmp_path, {"max_batches": 1}, files=0, sink=sink, code=noting(tmp_path) + WINDOWS
    )
    pipeline.deliver("a.csv", "a,1", "b,2", "late,100")
    facts = pipeline.run("first").facts
    # Stopped after batch 0, the window would stay open until there is new input.
    assert pipeline.notes() == [[0, []], [1, [2]]]
    assert (facts["batches"], facts["stopped"]) == ([0, 1], None)
