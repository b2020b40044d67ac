"""State of one's own, published: transformWithState by row and by pandas, applyInPandasWithState.

What the processors say is worked out by hand in each test. Times are minutes after 12:00.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Outcome, Report
from tidemill.ledger.generation_note import read_note

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SPEC: dict[str, Any] = {"event_time": {"column": "at", "watermark": "10 minutes"}}
HEAD = """
from collections.abc import Iterator
from datetime import timedelta

import pandas as pd
from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.state import GroupStateTimeout

"""


def flow(home: Path, code: str, **spec: Any) -> JsonPipeline:
    return JsonPipeline(
        home, {"events": "id string, at timestamp, n int"}, {**SPEC, **spec}, HEAD + code
    )


def at(minute: int, who: str = "a", n: int = 1) -> dict[str, Any]:
    return {"id": who, "at": (NOON + timedelta(minutes=minute)).isoformat(), "n": n}


def millis(minute: int) -> int:
    return int((NOON + timedelta(minutes=minute)).timestamp() * 1000)


def arrive(flow: JsonPipeline, name: str, rows: Iterable[dict[str, Any]]) -> None:
    flow.arrive("events", name, rows)


def error_of(report: Report) -> dict[str, Any]:
    assert report.error is not None
    return report.error


# Everything that a processor may keep: a value, a list, a map; and a timer of event time.
TOTALS = """
class Totals(StatefulProcessor):
    def init(self, handle):
        self.handle = handle
        self.total = handle.getValueState("total", "sum int, ends bigint")
        self.seen = handle.getListState("seen", "n int")
        self.counts = handle.getMapState("counts", "n int", "times int")

    def handleInitialState(self, key, initialState, timerValues):
        self.total.update((initialState["start"], 0))

    def handleInputRows(self, key, rows, timerValues):
        total, ends = self.total.get() or (0, 0)
        for row in rows:
            total += row["n"]
            ends = max(ends, row["millis"] + 5 * 60_000)
            self.seen.appendValue((row["n"],))
            n = (row["n"],)
            times = self.counts.getValue(n)[0] if self.counts.containsKey(n) else 0
            self.counts.updateValue(n, (times + 1,))
        for timer in [*self.handle.listTimers()]:
            self.handle.deleteTimer(timer)
        self.handle.registerTimer(ends)
        self.total.update((total, ends))
        return iter(())

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        total, ends = self.total.get()
        most = max((times, n) for (n,), (times,) in self.counts.iterator())[1]
        seen = sorted(n for n, in self.seen.get())
        for state in (self.total, self.seen, self.counts):
            state.clear()
        yield Row(id=key[0], total=total, most=most, seen=seen, ended=ends)


def transform(events):
    session = events.sparkSession
    start = session.createDataFrame([("a", 100), ("z", 900)], "id string, start int")
    return (
        events.withColumn("millis", F.unix_millis("at"))
        .groupBy("id")
        .transformWithState(
            Totals(),
            "id string, total int, most int, seen array<int>, ended bigint",
            "Append",
            "EventTime",
            start.groupBy("id"),
        )
    )
"""


def test_a_row_processor_keeps_values_lists_and_maps_until_its_timer(
    tmp_path: Path, spark: object
) -> None:
    totals = flow(tmp_path, TOTALS)
    arrive(totals, "1", [at(0, n=1), at(1, n=2), at(2, n=2), at(3, "b", 7)])
    totals.go("first")
    assert totals.published("id") == []
    # In time, though earlier than what came before; and it moves the watermark to 12:02.
    arrive(totals, "2", [at(1, n=5), at(12, "c")])
    totals.go("second")
    assert totals.published("id") == []
    # To 12:08: both have ended, `a` at 12:07 and `b` at 12:08.
    arrive(totals, "3", [at(18, "c")])
    totals.go("third")
    assert totals.published("id", "total", "most", "seen", "ended") == [
        ("a", 110, 2, [1, 2, 2, 5], millis(7)),
        ("b", 7, 7, [7], millis(8)),
    ]
    note = read_note(totals.layout, FIRST_GENERATION)
    assert note is not None
    assert note.pipeline_class is PipelineClass.ORDERED


PANDAS = """
class Totals(StatefulProcessor):
    def init(self, handle):
        self.total = handle.getValueState("total", "sum int")

    def handleInputRows(self, key, rows, timerValues):
        total, = self.total.get() or (0,)
        for frame in rows:
            total += int(frame["n"].sum())
        self.total.update((total,))
        yield pd.DataFrame({"id": [key[0]], "total": [total]})


def transform(events):
    return events.groupBy("id").transformWithStateInPandas(
        Totals(), "id string, total int", "Update", "None"
    )
"""


def test_a_pandas_processor_says_what_changed(tmp_path: Path, spark: object) -> None:
    totals = flow(tmp_path, PANDAS, output={"mode": "update", "keys": ["id"]})
    arrive(totals, "1", [at(0, n=1), at(1, n=2), at(3, "b", 7)])
    totals.go("first")
    arrive(totals, "2", [at(4, n=5)])
    totals.go("second")
    assert totals.published("id", "total") == [("a", 8), ("b", 7)]


GROUPS = """
def count(key, frames, state):
    if state.hasTimedOut:
        total, _ = state.get
        state.remove()
        yield pd.DataFrame({"id": [key[0]], "total": [total]})
        return
    total, ends = state.getOption or (0, 0)
    for frame in frames:
        total += int(frame["n"].sum())
        ends = max(ends, int(frame["millis"].max()) + 5 * 60_000)
    state.update((total, ends))
    state.setTimeoutTimestamp(ends)


def transform(events):
    timed = events.withColumn("millis", F.unix_millis("at"))
    return timed.groupBy("id").applyInPandasWithState(
        count,
        "id string, total int",
        "sum int, ends bigint",
        "append",
        GroupStateTimeout.EventTimeTimeout,
    )
"""


def test_a_group_times_out_by_event_time(tmp_path: Path, spark: object) -> None:
    groups = flow(tmp_path, GROUPS)
    arrive(groups, "1", [at(0, n=1), at(10, n=2)])
    groups.go("first")
    # The watermark comes to 12:10, and `a` ends at 12:16.
    arrive(groups, "2", [at(11, n=4), at(20, "b")])
    groups.go("second")
    assert groups.published("id", "total") == []
    arrive(groups, "3", [at(27, "b")])
    groups.go("third")
    assert groups.published("id", "total") == [("a", 7)]


FIELD_MORE = """
class Last(StatefulProcessor):
    def init(self, handle):
        self.last = handle.getValueState("last", "n int{more}")

    def handleInputRows(self, key, rows, timerValues):
        kept = self.last.get() or ({nothing})
        n = max(row["n"] for row in rows)
        self.last.update((n{value}))
        yield Row(id=key[0], n=n, before=str(tuple(kept)))


def transform(events):
    return events.groupBy("id").transformWithState(
        Last(), "id string, n int, before string", "Append", "None"
    )
"""


def test_a_state_with_a_field_more_goes_on(tmp_path: Path, spark: object) -> None:
    last = flow(tmp_path, FIELD_MORE.format(more="", nothing="None,", value=","))
    arrive(last, "1", [at(0, n=1)])
    last.go("first")
    last.write(HEAD + FIELD_MORE.format(more=", note string", nothing="None, None", value=", 'x'"))
    arrive(last, "2", [at(1, n=2)])
    arrive(last, "3", [at(2, n=3)])
    last.go("second")
    # Two batches: one reads what the old code wrote, one what the new code wrote.
    assert last.published("n", "before") == [
        (1, "(None,)"),
        (2, "(1, None)"),
        (3, "(2, 'x')"),
    ]


FORGETTING = """
class Seen(StatefulProcessor):
    def init(self, handle):
        self.seen = handle.getValueState("seen", "n int", ttlDurationMs=3_600_000)

    def handleInputRows(self, key, rows, timerValues):
        if not self.seen.exists():
            self.seen.update((1,))
            yield Row(id=key[0])


def transform(events):
    return events.groupBy("id").transformWithState(Seen(), "id string", "Append", "{mode}")
"""


def test_state_that_is_forgotten_by_the_clock_is_not_published(
    tmp_path: Path, spark: object
) -> None:
    seen = flow(tmp_path, FORGETTING.format(mode="ProcessingTime"))
    arrive(seen, "1", [at(0)])
    error = error_of(seen.run("first")["ingest"])
    assert error["code"] == "TransformNotRepeatable"
    assert error["data"]["expression"] == "timeMode ProcessingTime"


def test_spark_forgets_by_no_other_clock(tmp_path: Path, spark: object) -> None:
    seen = flow(tmp_path, FORGETTING.format(mode="EventTime"))
    arrive(seen, "1", [at(0)])
    error = error_of(seen.run("first")["ingest"])
    assert (error["code"], error["transient"]) == ("QueryFailed", False)
    assert "TTL" in error["what"]


@pytest.mark.remedy("TriggerEndless")
def test_a_sink_of_sparks_own_may_be_fed_by_the_clock(tmp_path: Path, spark: SparkSession) -> None:
    code, sink = FORGETTING.format(mode="ProcessingTime"), {"kind": "memory"}
    seen = flow(tmp_path, code, sink=sink, trigger="available_now")
    arrive(seen, "1", [at(0), at(1), at(2, "b")])
    error = error_of(seen.step("ingest", "endless"))
    assert (error["code"], error["data"]["field"]) == ("TriggerEndless", "trigger")
    seen.write(trigger="once")
    assert seen.step("ingest", "first").outcome is Outcome.DONE
    assert sorted(spark.table(seen.name).toPandas()["id"]) == ["a", "b"]
