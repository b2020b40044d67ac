"""Falling behind is more than a lag that grows: the runs left something or had no pause."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support.batches import batch_of
from tidemill.contract.layout import Layout
from tidemill.ledger.batch import Batch
from tidemill.sources.falling_behind import RUNS
from tidemill.sources.kafka.lag import Arrivals, falls_behind, last_arrivals, record_arrivals

BORN = datetime(2026, 3, 1, tzinfo=UTC)


def arrivals(hour: int, end: int, read: int) -> Arrivals:
    """What the start of an hour saw of one partition."""
    return Arrivals(
        at=BORN + timedelta(hours=hour), ends={"t": {0: end}}, position={"t": {0: read}}, epoch=hour
    )


def batch(start: int, minutes: int) -> Batch:
    """The last batch of the run that began at an hour, so many minutes later."""
    return batch_of(start, start=start, committed=BORN + timedelta(hours=start, minutes=minutes))


def test_runs_that_leave_more_each_time_fall_behind() -> None:
    seen = [arrivals(hour, end=1000 * (hour + 1), read=400 * hour) for hour in range(RUNS + 1)]
    pace = falls_behind(seen[:-1], seen[-1], [])
    assert pace is not None
    assert pace.lag == 1000 * (RUNS + 1) - 400 * RUNS
    assert (pace.arriving, pace.processed) == (1000 / 3600, 400 / 3600)


def test_runs_that_end_as_the_next_begins_fall_behind() -> None:
    # Each takes all that was there, and needs an hour for it.
    ends = [1000, 2100, 3400, 5000]
    seen = [arrivals(hour, ends[hour], ([0, *ends])[hour]) for hour in range(RUNS + 1)]
    busy = [batch(hour, minutes=58) for hour in range(RUNS)]
    assert falls_behind(seen[:-1], seen[-1], busy) is not None
    idle = [batch(hour, minutes=20) for hour in range(RUNS)]
    assert falls_behind(seen[:-1], seen[-1], idle) is None


def test_a_lag_that_shrinks_once_is_none() -> None:
    seen = [arrivals(0, 1000, 0), arrivals(1, 2000, 400), arrivals(2, 2100, 1200)]
    assert falls_behind(seen, arrivals(3, 4000, 1300), []) is None


def test_too_few_runs_say_nothing() -> None:
    seen = [arrivals(hour, 1000 * (hour + 1), 0) for hour in range(RUNS)]
    assert falls_behind(seen[:-1], seen[-1], []) is None


def test_a_partition_that_was_added_counts_from_its_beginning() -> None:
    seen = arrivals(1, 10, 4).model_copy(update={"ends": {"t": {0: 10, 1: 5}}})
    assert seen.lag == 11


def test_what_starts_saw_is_kept_and_the_last_of_it_read_back(tmp_path: Path) -> None:
    layout = Layout(tmp_path, "orders")
    seen = [arrivals(hour, 1000 * hour, 0) for hour in range(5)]
    for one in seen:
        record_arrivals(layout, "live-0001", "orders", one)
    assert last_arrivals(layout, "live-0001", "orders") == seen[-RUNS:]
    assert last_arrivals(layout, "live-0001", "other") == []


def test_what_a_start_saw_and_a_power_cut_tore_is_passed_over(tmp_path: Path) -> None:
    layout = Layout(tmp_path, "orders")
    for hour in (1, 2):
        record_arrivals(layout, "live-0001", "events", arrivals(hour, end=10, read=5))
    (layout.ledger("live-0001") / "arrivals" / "events" / "000001.json").write_text("")
    assert [seen.epoch for seen in last_arrivals(layout, "live-0001", "events")] == [2]
