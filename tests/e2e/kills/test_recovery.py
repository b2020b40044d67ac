"""Queries with state go on where they were stopped: by a poison record, a kill, a pause, a setting.

Each history ends in the same closed windows, which plain Python counts from the input.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.kills.kill_at_point import kill_at
from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WIDTH = 10
COUNTS = """
from pyspark.sql import functions as F


def transform(events):
    numbers = events{filter}.select("at", F.col("n").cast("int").alias("n"))
    return numbers.groupBy(F.window("at", "10 minutes")).agg(F.sum("n").alias("sum"))
"""
AS_IT_IS = COUNTS.format(filter="")
FILTERED = COUNTS.format(filter=".where(\"n RLIKE '^[0-9]+$'\")")
SPEC: dict[str, Any] = {"event_time": {"column": "at", "watermark": "10 minutes"}}
# Each file some minutes on, with a row that is late and in time.
FILES = {f"{n}.json": [10 * n, 10 * n + 3, 10 * n - 6] for n in range(1, 7)}


@pytest.fixture
def flow(tmp_path: Path, spark: object) -> JsonPipeline:
    return JsonPipeline(tmp_path, {"events": "at timestamp, n string"}, SPEC, AS_IT_IS)


def arrive(flow: JsonPipeline, files: Iterable[str]) -> None:
    for name in files:
        flow.arrive("events", name.removesuffix(".json"), rows(FILES[name]))


def rows(minutes: Iterable[int]) -> list[dict[str, Any]]:
    return [{"at": (NOON + timedelta(minutes=m)).isoformat(), "n": str(m)} for m in minutes]


def sums(flow: JsonPipeline) -> list[tuple[int, int]]:
    """The published windows: the minute in which each begins, and its sum."""
    found = flow.published("window", "sum")
    return [((window["start"] - NOON) // timedelta(minutes=1), total) for window, total in found]


def closed(minutes: Iterable[int]) -> list[tuple[int, int]]:
    """What is to be published once these minutes were read."""
    given = [*minutes]
    total: Counter[int] = Counter()
    for minute in given:
        total[minute - minute % WIDTH] += minute
    watermark = max(given) - 10
    return sorted((begin, n) for begin, n in total.items() if begin + WIDTH <= watermark)


def all_minutes(names: Iterable[str] = FILES) -> list[int]:
    return [minute for name in names for minute in FILES[name]]


def test_a_poison_record_is_filtered_out_and_the_same_batch_passes(flow: JsonPipeline) -> None:
    arrive(flow, ["1.json", "2.json"])
    flow.go("first")
    last = flow.batches[-1].batch
    flow.arrive("events", "3", [*rows(FILES["3.json"]), {"at": NOON.isoformat(), "n": "poison"}])
    for run_id in ("second", "again"):
        stopped = flow.run(run_id)["ingest"]
        assert stopped.outcome is Outcome.FAILED
        assert stopped.error is not None
        assert stopped.error["data"]["condition"] == "CAST_INVALID_INPUT"
        assert not stopped.error["transient"]
    assert flow.batches[-1].batch == last
    offsets = flow.layout.checkpoint(FIRST_GENERATION) / "offsets" / str(last + 1)
    planned = offsets.read_text()

    flow.write(FILTERED)
    flow.go("mended")

    assert offsets.read_text() == planned
    (again,) = [batch for batch in flow.batches if batch.batch == last + 1]
    assert [Path(file.path).name for file in again.inputs] == ["3.json"]
    assert sums(flow) == closed(all_minutes(["1.json", "2.json", "3.json"]))


def test_a_driver_killed_mid_batch_leaves_no_trace(flow: JsonPipeline) -> None:
    arrive(flow, FILES)
    checkpoint = flow.layout.checkpoint(FIRST_GENERATION)

    def some_are_done_and_one_is_not() -> bool:
        done = numbers(checkpoint / "commits")
        return len(done) > 1 and numbers(checkpoint / "offsets") > done

    driver = subprocess.Popen(
        [sys.executable, "-m", "tidemill.main", "ingest", flow.name, "--run-id", "killed"],
        env={**flow.environ, "TIDEMILL_MASTER": "local[2]"},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    kill_at(driver, checkpoint / "commits" / "0", some_are_done_and_one_is_not)
    assert numbers(checkpoint / "offsets") > numbers(checkpoint / "commits")

    flow.go("after")

    assert sums(flow) == closed(all_minutes())


def numbers(folder: Path) -> set[int]:
    """The batches that a log of Spark's holds."""
    return {int(entry.name) for entry in folder.glob("*") if entry.name.isdecimal()}


def test_a_run_after_a_days_pause_goes_on_with_what_was_open(flow: JsonPipeline) -> None:
    first = [*FILES][:2]
    arrive(flow, first)
    flow.go("today")
    day = 24 * 60
    flow.arrive("events", "next-day", rows([day, day + 4, day + 25]))
    flow.go("tomorrow")
    assert sums(flow) == closed([*all_minutes(first), day, day + 4, day + 25])
    assert len(sums(flow)) == 4


def test_another_maxfilespertrigger_gives_the_same_windows(flow: JsonPipeline) -> None:
    names = [*FILES]
    arrive(flow, names[:2])
    flow.go("one by one")
    flow.write(sources={"events": {"maxFilesPerTrigger": 3}})
    arrive(flow, names[2:])
    flow.go("three by three")
    read = [len(batch.inputs) for batch in flow.batches if batch.inputs]
    assert read == [1, 1, 3, 1]
    assert sums(flow) == closed(all_minutes())
