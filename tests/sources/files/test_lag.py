"""A file source falls behind as a topic does: by what waited at the starts of its last runs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.doctor_report import look
from tests.support.histories.file_feed import MINUTE, FileFeed
from tests.support.histories.history_builder import History, rows
from tidemill.reporting.standing import read_standing
from tidemill.sources.kinds import open_source
from tidemill.sources.probe_result import ProbeResult
from tidemill.spec.catalog import SpecFile
from tidemill.spec.sources.base import Rating


def looked(feed: FileFeed) -> ProbeResult:
    source = open_source(feed.history.pipeline, "orders")
    return source.probe(feed.history.ledger.batches())


def behind(found: ProbeResult) -> list[Rating]:
    return [one.rating for one in found.problems if one.error.code == "FallingBehind"]


@pytest.fixture
def feed(tmp_path: Path) -> FileFeed:
    return FileFeed(History(tmp_path, source=", same_content: ignore"))


def test_runs_that_leave_more_each_time_fall_behind(feed: FileFeed) -> None:
    feed.grow(minutes=10, stopped="budget.max_batches")
    found = looked(feed)
    assert behind(found) == [Rating.WARN]
    (problem,) = found.problems
    assert problem.error.lag == found.backlog_bytes
    assert problem.error.arriving > problem.error.processed > 0


def test_runs_without_a_pause_fall_behind_and_runs_with_one_do_not(tmp_path: Path) -> None:
    for name, minutes, expected in (("busy", 58, [Rating.WARN]), ("idle", 20, [])):
        home = tmp_path / name
        home.mkdir()
        feed = FileFeed(History(home, source=", same_content: ignore"))
        feed.grow(minutes)
        assert behind(looked(feed)) == expected


def test_a_run_that_a_person_stopped_left_nothing_behind(feed: FileFeed) -> None:
    feed.grow(minutes=10, stopped="a request to stop")
    assert behind(looked(feed)) == []


def test_a_first_load_that_a_budget_cuts_into_runs_is_not_behind(feed: FileFeed) -> None:
    old = [feed.deliver(feed.now - timedelta(days=9 - number), 9000) for number in range(8)]
    for hour in (3, 2, 1):
        # More files than are processed, of fewer bytes.
        for _ in range(4):
            feed.deliver(feed.now - timedelta(hours=hour) - MINUTE, 100)
        feed.run(hour, [old.pop(0)], 58, "budget.max_batches")
    for _ in range(4):
        feed.deliver(feed.now - MINUTE, 100)
    found = looked(feed)
    assert found.new == 21
    assert behind(found) == []


@pytest.mark.parametrize("age", [timedelta(days=300), timedelta(hours=2.5), MINUTE])
def test_a_backlog_that_is_delivered_at_once_is_not_behind(feed: FileFeed, age: timedelta) -> None:
    for hour in (3, 2, 1):
        feed.run(hour, [feed.deliver(feed.now - timedelta(hours=hour) - MINUTE, 100)], 5)
    for _ in range(20):
        # Copied with its time, or written now.
        feed.deliver(feed.now - age, 50_000)
    assert behind(looked(feed)) == []


def test_deliveries_that_arrive_an_hour_after_their_time_were_not_left(feed: FileFeed) -> None:
    for hour in (4, 3, 2):
        modified = feed.now - timedelta(hours=hour) - MINUTE
        late = feed.deliver(modified, 1000 * (5 - hour))
        feed.run(hour - 1, [late], 5)
    for modified in (feed.now - timedelta(hours=1) - MINUTE, feed.now - MINUTE):
        feed.deliver(modified, 9000)
    assert behind(looked(feed)) == []


@pytest.mark.parametrize("rating", ["hold", "ignore"])
def test_it_is_rated_as_the_spec_says(tmp_path: Path, rating: str) -> None:
    source = f", same_content: ignore, falling_behind: {rating}"
    feed = FileFeed(History(tmp_path, source=source))
    feed.grow(minutes=58)
    found = looked(feed)
    assert behind(found) == ([Rating.HOLD] if rating == "hold" else [])
    if found.held is not None:
        assert "sources.orders.falling_behind: warn" in found.held.remedy


def test_the_pipeline_is_behind_until_a_run_has_caught_up(feed: FileFeed) -> None:
    feed.grow(minutes=58)
    history = feed.history
    spec = SpecFile(history.project, history.project.spec(history.name), history.name)
    look(history, "first")
    found = read_standing(history.root, spec)
    assert found.state == "behind"
    assert ["Source orders" in one for one in found.decisions] == [True]
    history.start()
    history.batch(rows(9), inputs=sorted(history.inputs.glob("*.csv"))[-2:])
    look(history, "second")
    found = read_standing(history.root, spec)
    assert (found.state, found.decisions) == ("waiting", ())
