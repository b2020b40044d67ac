"""The time of the run that took a row in stays the row's, however often it is computed again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.recompute_requests import ask, days
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome
from tidemill.generations.build import BatchTimeLost
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.steps.decisions.rebuild import rebuild

DAYS = {
    "statics": {"batch": {"kind": "batch"}},
    "event_time": {"column": "at"},
    "output": {"partition_by": {"day": "to_date(at)"}},
}
LOADED = """
from pyspark.sql import functions as F


def transform(clicks, batch):
    loaded = batch.select("run_id", F.col("at").alias("loaded"), "interval_end")
    return clicks.crossJoin(loaded)
"""
POISON = """

fixed = transform


def transform(clicks, batch):
    poison = F.when(F.col("click") == 2, F.raise_error(F.lit("poison")))
    return fixed(clicks.where(poison.isNull()), batch)
"""
COUNTED = """
from pyspark.sql import functions as F


def transform(clicks, batch):
    windows = clicks.crossJoin(batch.select("run_id")).groupBy(F.window("at", "10 minutes"))
    return windows.agg(F.max("run_id").alias("run_id"), F.count("*").alias("clicks"))
"""
WINDOWS = {
    **DAYS,
    "event_time": {"column": "at", "watermark": "0 seconds"},
    "output": {"partition_by": {"day": "to_date(window.start)"}},
}


def click(number: int, time: str = "01T10:00") -> dict[str, Any]:
    return {"click": number, "at": f"2026-03-{time}:00Z"}


def test_a_retried_batch_and_a_backfill_have_the_times_of_the_first_computation(
    tmp_path: Path, spark: object
) -> None:
    flow = JsonPipeline(tmp_path, {"clicks": "click int, at timestamp"}, DAYS, LOADED)
    flow.arrive("clicks", "a", [click(1)])
    request = RunRequest(interval_start=days(1, 2)["start"], interval_end=days(1, 2)["end"])
    fix_request(flow.layout.run("first"), request)
    flow.go("first")
    flow.arrive("clicks", "b", [click(2)])
    flow.write(LOADED + POISON)
    assert flow.run("second")["ingest"].outcome is Outcome.FAILED
    assert (flow.layout.checkpoint(FIRST_GENERATION) / "offsets" / "1").exists()
    flow.arrive("clicks", "c", [click(3)])
    flow.write(LOADED)
    flow.go("third")
    runs = [(1, "first", request.interval_end), (2, "second", None), (3, "third", None)]
    assert flow.published("click", "run_id", "interval_end") == runs
    before = flow.published("click", "run_id", "loaded")
    assert len({loaded for *_, loaded in before}) == len(before)
    starts = {one.run_id: one.at for one in Ledger(flow.layout, FIRST_GENERATION).starts()}

    # With the same code a backfill would be skipped.
    flow.write(LOADED + "# corrected")
    ended = ask(flow, "backfill", "again", **days(1, 2))

    assert ended["publish"].outcome is Outcome.DONE
    assert flow.published("click", "run_id", "loaded") == before
    assert all(loaded <= starts[run_id] for _, run_id, loaded in before)

    with pytest.raises(BatchTimeLost) as refused:
        rebuild(flow.context("rebuild"), RunRequest(role="rebuild", by="ada", reason="new rule"))
    assert refused.value.statics == ["batch"]


def test_windows_are_replayed_with_the_runs_of_their_batches(tmp_path: Path, spark: object) -> None:
    flow = JsonPipeline(tmp_path, {"clicks": "click int, at timestamp"}, WINDOWS, COUNTED)
    for name, times in {"1st": ("01T10:00", "01T10:12"), "2nd": ("01T10:13", "01T10:30")}.items():
        flow.arrive("clicks", name, [click(number, time) for number, time in enumerate(times)])
        flow.go(name)
    flow.arrive("clicks", "close", [click(9, "03T00:00")])
    flow.go("3rd")
    before = flow.published("run_id", "clicks")
    assert before == [("1st", 1), ("2nd", 1), ("2nd", 2)]

    flow.write(COUNTED + "# corrected")
    ended = ask(flow, "backfill", "again", **days(1, 2))

    assert ended["publish"].outcome is Outcome.DONE
    assert flow.published("run_id", "clicks") == before
