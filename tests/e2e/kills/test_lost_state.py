"""The newest file of the state is lost after its batch was published: the next run goes on exactly.

Once for each sink and each kind of state.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb

from tests.e2e.kills.test_recovery import AS_IT_IS, SPEC, closed, rows, sums
from tests.support.pipelines.door_events import Actions
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.pipeline_folder import STEPS
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome

WHOLE = """
def transform(events):
    return events.groupBy("action").count()
"""
TIMES = {"watermark": "10 minutes"}
JOIN: dict[str, Any] = {
    "sources": {name: {"event_time": {"column": f"{name}_at", **TIMES}} for name in ("a", "b")}
}
PAIRS = """
from pyspark.sql import functions as F


def transform(a, b):
    near = F.expr("a_id = b_id AND b_at BETWEEN a_at AND a_at + INTERVAL 30 MINUTES")
    return a.join(b, near).select("a_id", "a_n", "b_n")
"""
SUMS = """
import pandas as pd
from pyspark.sql.streaming import StatefulProcessor


class Sum(StatefulProcessor):
    def init(self, handle):
        self._sum = handle.getValueState("sum", "n int")

    def handleInputRows(self, key, rows, timers):
        known = self._sum.get()[0] if self._sum.exists() else 0
        known += sum(map(len, rows))
        self._sum.update((known,))
        yield pd.DataFrame({"word": [key[0]], "n": [known]})

    def close(self):
        pass


def transform(events):
    groups = events.groupBy("word")
    return groups.transformWithStateInPandas(Sum(), "word string, n int", "update", "None")
"""


def lose_newest(checkpoint: Path) -> int:
    """Remove the newest version of each store, as a power cut does; how many."""
    newest = max(int(path.name) for path in (checkpoint / "commits").glob("[0-9]*")) + 1
    lost = [*(checkpoint / "state").rglob(f"{newest}.*")]
    for file in lost:
        file.unlink()
        file.with_name(f".{file.name}.crc").unlink()
    return len(lost)


def test_totals_of_all_input_go_on(tmp_path: Path, spark: object) -> None:
    mill = Actions(tmp_path, transform=WHOLE)
    del mill.spec["output"]["keys"]
    mill.spec["gate"] |= {"suite": "none"}
    mill.write_spec(mode="complete")
    for hour, run_id in enumerate(("first", "second", "third")):
        mill.arrive_hours(hour)
        if hour == 2:
            assert lose_newest(mill.checkpoint)
        last = mill.run(run_id)[STEPS[-1]]
        assert last.outcome is Outcome.DONE, last.error
    expected = duckdb.connect().execute(
        "SELECT action, count(*) FROM read_json($1) WHERE action IS NOT NULL GROUP BY ALL",
        [f"{mill.input}/*.json"],
    )
    assert mill.counts() == Counter(expected.fetchall())


def test_windows_in_files_go_on(tmp_path: Path, spark: object) -> None:
    flow = JsonPipeline(tmp_path, {"events": "at timestamp, n string"}, SPEC, AS_IT_IS)
    read: list[int] = []
    for number in range(1, 7):
        minutes = [10 * number, 10 * number + 3, 10 * number - 6]
        flow.arrive("events", str(number), rows(minutes))
        read += minutes
        if number in (3, 5):
            assert lose_newest(flow.layout.checkpoint(FIRST_GENERATION))
        flow.go(f"run-{number}")
        assert sums(flow) == closed(read)


def test_the_rows_of_a_join_go_on(tmp_path: Path, spark: object) -> None:
    columns = {name: f"{name}_at timestamp, {name}_id int, {name}_n int" for name in ("a", "b")}
    flow = JsonPipeline(tmp_path, columns, JOIN, PAIRS)
    for number in range(4):
        for name in ("a", "b"):
            at = [f"2026-03-01T12:{10 * number + n:02d}:00Z" for n in range(3)]
            events = [
                {f"{name}_at": one, f"{name}_id": 1, f"{name}_n": 10 * number + n}
                for n, one in enumerate(at)
            ]
            flow.arrive(name, str(number), events)
        if number == 2:
            assert lose_newest(flow.layout.checkpoint(FIRST_GENERATION))
        flow.go(f"run-{number}")
    minutes = [10 * number + n for number in range(4) for n in range(3)]
    expected = [(1, a, b) for a in minutes for b in minutes if a <= b <= a + 30]
    assert sorted(flow.published("a_id", "a_n", "b_n")) == expected


def test_the_first_values_of_a_processor_go_on(tmp_path: Path, spark: object) -> None:
    spec = {"event_time": {"column": "at"}, "output": {"mode": "update", "keys": ["word"]}}
    flow = JsonPipeline(tmp_path, {"events": "at timestamp, word string"}, spec, SUMS)
    for number in range(3):
        if number:
            assert lose_newest(flow.layout.checkpoint(FIRST_GENERATION))
        words = [{"at": "2026-03-01T00:00:00Z", "word": word} for word in "ab"[: number + 1]]
        flow.arrive("events", str(number), words)
        flow.go(f"run-{number}")
    assert sorted(flow.published("word", "n")) == [("a", 3), ("b", 2)]
