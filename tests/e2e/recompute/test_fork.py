"""Redo with state: the checkpoint is forked at the last published batch, the rest read again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.recompute_requests import ask
from tests.support.pipelines.windowed_words import COUNTS, at, windows
from tidemill.contract.report import Outcome
from tidemill.increments.increments import State
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import current, read_takeovers
from tidemill.spark_logs.sink_log import read_sink_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Refuses windows of a word that the fixed code leaves out.
SUITE: dict[str, Any] = {
    "meta": {"great_expectations_version": "1.24.1"},
    "expectations": [
        {
            "type": "expect_column_values_to_not_be_in_set",
            "kwargs": {"column": "word", "value_set": ["wrong"]},
            "meta": {},
        }
    ],
}
INTERVAL = "spark.sql.streaming.fileSink.log.compactInterval"
MENDED = COUNTS.replace("events.groupBy", "events.where(\"word <> 'wrong'\").groupBy")


def counted(files: Iterable[list[dict[str, str]]], upto: str) -> list[tuple[datetime, str, int]]:
    """What one batch over all of it counts, of windows that end by a time of the day."""
    end = datetime.fromisoformat(f"2026-03-01T{upto}:00+00:00")
    found: Counter[tuple[datetime, str]] = Counter()
    for row in (row for rows in files for row in rows):
        time = datetime.fromisoformat(row["at"].replace("Z", "+00:00"))
        found[time - timedelta(minutes=time.minute % 10), row["word"]] += 1
    wanted = [(*key, n) for key, n in found.items() if key[0] + timedelta(minutes=10) <= end]
    return sorted(wanted, key=repr)


def published(flow: JsonPipeline) -> list[tuple[datetime, str, int]]:
    rows = flow.published("window", "word", "count")
    return sorted(((window["start"], word, n) for window, word, n in rows), key=repr)


def fed(flow: JsonPipeline, minutes: range, *more: dict[str, str]) -> list[list[dict[str, str]]]:
    """A file for each minute after twelve, each a batch; the first has some rows more."""
    files = []
    for minute in minutes:
        files.append([at(f"12:{minute:02d}"), *(() if files else more)])
        flow.arrive("events", f"m{minute:03d}", files[-1])
    return files


def without_wrong(files: Iterable[list[dict[str, str]]]) -> list[list[dict[str, str]]]:
    return [[row for row in rows if row["word"] != "wrong"] for rows in files]


@pytest.fixture
def compacts_often(spark: SparkSession) -> Iterator[dict[str, int]]:
    """A setting of the shared session, for one test."""
    yield {INTERVAL: 3}
    spark.conf.unset(INTERVAL)


def test_the_unpublished_tail_is_taken_in_again_with_mended_code(
    tmp_path: Path, compacts_often: dict[str, int]
) -> None:
    # Where Spark puts its log together it wants what came before the fork.
    flow = windows(tmp_path, spark={"conf": compacts_often})
    flow.suite = SUITE
    flow.write()
    files = fed(flow, range(0, 20, 5))
    flow.go("first")
    before = published(flow)
    files += fed(flow, range(20, 35, 5), at("12:12", "wrong"))
    assert flow.run("second")["gate"].outcome is not Outcome.DONE
    # Good, and behind the held one.
    files += fed(flow, range(35, 40, 5))
    flow.run("third")
    assert published(flow) == before
    flow.write(transform=MENDED)
    done = ask(flow, "redo", "redo")
    assert done["publish"].outcome is Outcome.DONE, done["publish"]
    assert current(flow.layout) == "live-0002"
    (takeover,) = read_takeovers(flow.layout.home)
    assert (takeover.predecessor, takeover.by) == ("live-0001", "ada")
    assert published(flow) == counted(without_wrong(files), "12:20")
    states = {one.number: one.state for one in Snapshot(flow.layout).increments}
    assert {states[number] for number in takeover.supersedes} == {State.SUPERSEDED}
    files += fed(flow, range(40, 55, 5))
    flow.go("later")
    assert published(flow) == counted(without_wrong(files), "12:40")
    log = read_sink_log(flow.layout.sink("live-0002"))
    assert log.compacted_upto is not None
    assert log.compacted_upto > takeover.first


TOTALS = """
from pyspark.sql import functions as F


def transform(sales):
    return sales.groupBy("id").agg((F.sum("amount") * {factor}).alias("total"))
"""


def test_running_totals_go_on_without_a_file_that_does_not_count(
    tmp_path: Path, spark: object
) -> None:
    most = {"column": "total", "max_value": 1000}
    rule = {"type": "expect_column_values_to_be_between", "kwargs": most, "meta": {}}
    flow = JsonPipeline(
        tmp_path,
        {"sales": "id string, amount long"},
        {"output": {"mode": "update", "keys": ["id"]}},
        TOTALS.format(factor=1),
        suite={**SUITE, "expectations": [rule]},
    )
    flow.arrive("sales", "1", [{"id": "a", "amount": 10}, {"id": "b", "amount": 20}])
    flow.go("first")
    wrong = flow.arrive("sales", "2 wröng%20", [{"id": "a", "amount": 99_999}])
    flow.arrive("sales", "3", [{"id": "a", "amount": 1}, {"id": "c", "amount": 5}])
    assert flow.run("second")["gate"].outcome is not Outcome.DONE
    flow.write(transform=TOTALS.format(factor=2))
    done = ask(flow, "redo", "redo", exclude=(wrong.name,))
    assert done["publish"].outcome is Outcome.DONE, done["publish"]
    # b is as it was published: nothing has changed it since.
    assert flow.published() == [("a", 22), ("b", 20), ("c", 10)]
    flow.arrive("sales", "4", [{"id": "b", "amount": 3}])
    flow.go("later")
    assert flow.published() == [("a", 22), ("b", 46), ("c", 10)]
