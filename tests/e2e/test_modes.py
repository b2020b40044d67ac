"""Modes `update` and `complete` from files to a table: it equals the batch query, run for run."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contract.report import Outcome, Report
from tests.e2e.actions import Actions

pytestmark = pytest.mark.jvm

LATEST = """
def transform(events):
    return events.select("action", "time")
"""


@pytest.fixture
def mill(tmp_path: Path, spark: object) -> Actions:
    return Actions(tmp_path)


def data(report: Report) -> dict[str, Any]:
    assert report.error is not None
    found: dict[str, Any] = report.error["data"]
    return found


def test_an_aggregation_in_mode_update_equals_the_batch_query_after_each_run(
    mill: Actions,
) -> None:
    for number, hours in enumerate([(0, 1), (2, 3, 4), (5,)]):
        mill.arrive_hours(*hours)
        reports = mill.run(f"run-{number}")
        assert reports["publish"].outcome is Outcome.DONE
        assert mill.counts() == mill.batch_query()
    assert mill.rejected() == Counter({("rule action_known", record(hour)): 1 for hour in range(6)})


def record(hour: int) -> str:
    return json.dumps({"time": f"2026-03-01T{hour:02d}:00:00.000Z"}, separators=(",", ":"))
