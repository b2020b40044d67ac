"""A batch without input is planned for what is due, and for nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.histories.history_builder import History, rows
from tests.support.histories.spark_log_builder import write_commit
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.engine.run.empty_batch import plan_due
from tidemill.sources.probe_result import ProbeResult

NOON_MS = 1_772_366_400_000
NOTHING_NEW = [ProbeResult("orders", 0, "files")]


@pytest.fixture
def history(tmp_path: Path) -> History:
    """A query with state whose last batch has moved the watermark, and closed nothing yet."""
    history = History(tmp_path, pipeline_class=PipelineClass.WINDOW)
    history.batch(rows(1), commit=False)
    write_commit(history.checkpoint, 0, next_watermark_ms=NOON_MS)
    history.ledger.complete()
    return history


def planned(history: History, batch: int) -> dict[str, Any]:
    """The time and watermark of a planned batch, as Spark reads them."""
    lines = (history.checkpoint / "offsets" / str(batch)).read_text().split("\n")
    found: dict[str, Any] = json.loads(lines[1])
    return found


def test_a_batch_is_planned_with_the_watermark_that_the_last_one_made(history: History) -> None:
    assert plan_due(history.run(), NOTHING_NEW) == NOON_MS
    assert planned(history, 1)["batchWatermarkMs"] == NOON_MS
    sources = [
        (history.checkpoint / "offsets" / str(batch)).read_text().split("\n")[2:]
        for batch in (0, 1)
    ]
    assert sources[0] == sources[1]


def test_what_is_new_brings_the_batch_by_itself(history: History) -> None:
    new = [ProbeResult("orders", 1, "files")]
    assert plan_due(history.run(), new) is None
    assert not (history.checkpoint / "offsets" / "1").exists()


def test_a_batch_that_was_planned_comes_first(history: History) -> None:
    plan_due(history.run(), NOTHING_NEW)
    assert plan_due(history.run(), NOTHING_NEW) is None
    assert not (history.checkpoint / "offsets" / "2").exists()


def test_nothing_is_due_where_the_watermark_stood_still(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.batch(rows(1))
    assert plan_due(history.run(), NOTHING_NEW) is None
