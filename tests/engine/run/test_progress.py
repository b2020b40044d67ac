"""What a running query reports is taken in by batch, once, and only for batches that ran."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import Row

from tests.support.histories.history_builder import History, rows
from tidemill.engine.query.metrics import OBSERVED
from tidemill.engine.query.planned_query import ROWS_OUT, ROWS_READ, SAMPLE
from tidemill.engine.run.progress import Progress
from tidemill.engine.run.remaining import Remaining
from tidemill.sources.probe_result import ProbeResult


def report(batch: int, rows: int = 0, *, ran: bool = True, **metrics: Row) -> dict[str, Any]:
    durations = {"addBatch": 10} if ran else {"latestOffset": 1}
    return {
        "batchId": batch,
        "numInputRows": rows,
        "durationMs": durations,
        "batchDuration": 2000,
        "processedRowsPerSecond": rows / 2,
        "observedMetrics": metrics,
    }


def progress_of(*reports: dict[str, Any], written: int = -1) -> Progress:
    found = Progress(Remaining({}), written)
    query: Any = SimpleNamespace(recentProgress=reports)
    found.look(query)
    return found


def test_a_batch_that_did_not_run_yet_is_not_reported() -> None:
    found = progress_of(report(0, 6), report(1, ran=False))
    assert (found.rows_in, found.latest) == ({0: 6}, 0)
    assert [found.speed(batch) for batch in (0, 1)] == [3.0, None]


def test_rows_are_those_counted_at_the_sources_where_they_are_counted() -> None:
    # Spark's own count has a row as often as it was read.
    orders, prices = Row(rows=4, malformed=1), Row(rows=3, malformed=2)
    metrics = {f"{ROWS_READ}_orders": orders, f"{ROWS_READ}_prices": prices}
    found = progress_of(report(0, 14, **metrics, **{ROWS_OUT: Row(rows=4)}))
    assert found.rows_in == {0: 7}
    assert (found.counts[0].rows, dict(found.counts[0].rejected)) == (4, {"malformed": 3})


def test_a_batch_that_the_sink_held_before_counts_for_nothing() -> None:
    seen = {OBSERVED: Row(total=0), SAMPLE: Row(rows=["{}"])}
    found = progress_of(report(4, **seen), report(5, 2, **seen), written=4)
    assert found.rows_in == {5: 2}
    assert (found.observed, found.samples) == ({5: {"total": 0}}, {5: ["{}"]})
    assert (list(found.reports), found.latest) == ([5], 5)


def test_without_a_report_nothing_is_known() -> None:
    found = progress_of()
    assert (found.latest, found.rows_in, dict(found.reports)) == (-1, {}, {})


@pytest.fixture
def history(history: History) -> History:
    """Two batches, of two files and of one."""
    for number, files in enumerate((["a.csv", "b.csv"], ["c.csv"])):
        history.batch(rows(number), inputs=[history.arrive(name) for name in files])
    return history


def left(line: str) -> str:
    """The end of a log line, which says what is left at the source."""
    return line.rpartition(", ")[2]


def test_files_that_are_left_grow_fewer_by_those_of_each_batch(history: History) -> None:
    found = Progress(Remaining({"orders": ProbeResult("orders", 4, "files")}))
    lines = []
    for batch in history.ledger.batches():
        found.remaining.take(batch)
        lines.append(found.line(batch))
    assert [left(line) for line in lines] == ["orders: 2 files left", "orders: 1 file left"]


def test_where_only_a_query_can_tell_nothing_is_said_of_what_is_left(history: History) -> None:
    found = Progress(Remaining({"orders": ProbeResult("orders", None, "records")}))
    assert not [line for line in map(found.line, history.ledger.batches()) if "left" in line]
