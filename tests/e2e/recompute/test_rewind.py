"""A rewind with Spark: state and input go back with the table, and what follows is exact again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.recompute.test_fork import counted, fed, published
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.recompute_requests import ask
from tests.support.pipelines.windowed_words import windows
from tidemill.contract.report import Outcome
from tidemill.journal.takeovers import current

ROW_BY_ROW = "def transform(events):\n    return events\n"


def row_by_row(home: Path) -> JsonPipeline:
    spec = {"event_time": {"column": "at"}, "output": {"partition_by": {"day": "to_date(at)"}}}
    return JsonPipeline(home, {"events": "at timestamp, word string"}, spec, ROW_BY_ROW)


@pytest.mark.usefixtures("spark")
def test_windows_that_were_open_then_are_open_again(tmp_path: Path) -> None:
    flow = windows(tmp_path)
    files = fed(flow, range(0, 30, 5))
    flow.go("good")
    then = published(flow)
    assert then == counted(files, "12:10")
    files += fed(flow, range(30, 60, 5))
    flow.go("bad")
    assert published(flow) != then

    done = ask(flow, "rewind", "back", back_to="good")

    assert done["publish"].outcome is Outcome.DONE, done
    assert published(flow) == then
    assert current(flow.layout) == "live-0002"
    flow.go("after")
    assert published(flow) == counted(files, "12:40")


@pytest.mark.usefixtures("spark")
def test_rows_are_neither_lost_nor_doubled(tmp_path: Path) -> None:
    flow = row_by_row(tmp_path)
    for number in range(4):
        flow.arrive(
            "events",
            f"f{number}",
            [{"at": f"2026-03-0{number + 1}T12:00:00Z", "word": str(number)}],
        )
        flow.go(f"run-{number}")
    ask(flow, "rewind", "back", back_to="run-1")
    assert flow.published("word") == [("0",), ("1",)]
    flow.arrive("events", "f4", [{"at": "2026-03-05T12:00:00Z", "word": "4"}])
    flow.go("after")
    assert flow.published("word") == [(str(number),) for number in range(5)]
    ask(flow, "backfill", "again", partitions=({"day": "2026-03-02"}, {"day": "2026-03-04"}))
    assert flow.published("word") == [(str(number),) for number in range(5)]
