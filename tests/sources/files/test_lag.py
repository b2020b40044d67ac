"""A file source falls behind as a topic does: by what waited at the starts of its last runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.doctor_report import look
from tests.support.histories.history_builder import History, rows
from tidemill.contract import report as reports
from tidemill.contract.report import Outcome, Report
from tidemill.ledger.batch import Batch, Start
from tidemill.reporting.standing import read_standing
from tidemill.sources.kinds import open_source
from tidemill.sources.probe_result import ProbeResult
from tidemill.spec.sources.base import Rating
from tidemill.storage import documents

NOW = datetime.now(UTC).replace(microsecond=0)
MINUTE = timedelta(minutes=1)


class Feed:
    """A feed of one file source, whose runs began 3, 2 and 1 hours ago."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.files = 0
        # A batch of the past, so that there is a generation.
        history.batch(rows(1), inputs=[self.deliver(NOW - timedelta(days=1), 10)])

    def deliver(self, at: datetime, size: int) -> Path:
        """A file of so many bytes, modified then."""
        self.files += 1
        return self.history.arrive(f"{self.files:03d}.csv", "id,at\n".ljust(size, "\n"), at=at)

    def run(
        self, hours_ago: int, inputs: list[Path], minutes: int, stopped: str | None = None
    ) -> None:
        """A run that took those files in, in a batch committed so many minutes after its start."""
        at, ledger = NOW - timedelta(hours=hours_ago), self.history.ledger
        epoch = self.history.start()
        path = ledger.folder / "starts" / f"{epoch:06d}.json"
        start = documents.read(path, Start)
        assert start is not None
        run_id = f"run-{hours_ago}"
        documents.replace(path, start.model_copy(update={"at": at, "run_id": run_id}))
        if inputs:
            number = self.history.batch(rows(hours_ago), inputs=inputs)
            path = ledger.folder / f"{number:06d}.json"
            batch = documents.read(path, Batch)
            assert batch is not None
            committed = at + minutes * MINUTE
            documents.replace(path, batch.model_copy(update={"committed": committed}))
        report = Report(
            pipeline="orders",
            run_id=run_id,
            step="ingest",
            outcome=Outcome.DONE,
            reason="",
            started=at,
            finished=at + minutes * MINUTE,
            facts={"stopped": stopped, "left": {}},
        )
        folder = self.history.layout.run(run_id)
        folder.mkdir(parents=True, exist_ok=True)
        reports.write(report, folder)

    def probe(self) -> ProbeResult:
        return open_source(self.history.pipeline, "orders").probe(self.history.ledger.batches())


def behind(found: ProbeResult) -> list[Rating]:
    return [one.rating for one in found.problems if one.error.code == "FallingBehind"]


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    return Feed(History(tmp_path, source=", same_content: ignore"))


def growing(feed: Feed, minutes: int, stopped: str | None = None) -> None:
    """Each hour 1,000 bytes more arrive; a run takes in what is there, or with a budget a half."""
    waiting: list[Path] = []
    for hour in (3, 2, 1):
        arrived = NOW - timedelta(hours=hour) - 5 * MINUTE
        waiting += [feed.deliver(arrived, 500 * (5 - hour)) for _ in range(2)]
        taken = waiting[: len(waiting) // 2] if stopped else waiting
        waiting = waiting[len(taken) :]
        feed.run(hour, taken, minutes, stopped)
    for _ in range(2):
        feed.deliver(NOW - 5 * MINUTE, 2500)


def test_runs_that_leave_more_each_time_fall_behind(feed: Feed) -> None:
    growing(feed, minutes=10, stopped="budget.max_batches")
    found = feed.probe()
    assert behind(found) == [Rating.WARN]
    (problem,) = found.problems
    assert problem.error.lag == found.backlog_bytes
    assert problem.error.arriving > problem.error.processed > 0


def test_runs_without_a_pause_fall_behind_and_runs_with_one_do_not(tmp_path: Path) -> None:
    for name, minutes, expected in (("busy", 58, [Rating.WARN]), ("idle", 20, [])):
        home = tmp_path / name
        home.mkdir()
        feed = Feed(History(home, source=", same_content: ignore"))
        growing(feed, minutes)
        assert behind(feed.probe()) == expected


def test_a_run_that_a_person_stopped_left_nothing_behind(feed: Feed) -> None:
    growing(feed, minutes=10, stopped="a request to stop")
    assert behind(feed.probe()) == []


def test_a_first_load_that_a_budget_cuts_into_runs_is_not_behind(feed: Feed) -> None:
    old = [feed.deliver(NOW - timedelta(days=9 - number), 9000) for number in range(8)]
    for hour in (3, 2, 1):
        # More files than are processed, of fewer bytes.
        for _ in range(4):
            feed.deliver(NOW - timedelta(hours=hour) - MINUTE, 100)
        feed.run(hour, [old.pop(0)], 58, "budget.max_batches")
    found = feed.probe()
    assert found.new == 17
    assert behind(found) == []


@pytest.mark.parametrize("age", [timedelta(days=300), timedelta(hours=2.5), MINUTE])
def test_a_backlog_that_is_delivered_at_once_is_not_behind(feed: Feed, age: timedelta) -> None:
    for hour in (3, 2, 1):
        feed.run(hour, [feed.deliver(NOW - timedelta(hours=hour) - MINUTE, 100)], 5)
    for _ in range(20):
        # Copied with its time, or written now.
        feed.deliver(NOW - age, 50_000)
    assert behind(feed.probe()) == []


def test_deliveries_that_arrive_an_hour_after_their_time_were_not_left(feed: Feed) -> None:
    for hour in (4, 3, 2):
        modified = NOW - timedelta(hours=hour) - MINUTE
        late = feed.deliver(modified, 1000 * (5 - hour))
        feed.run(hour - 1, [late], 5)
    feed.deliver(NOW - timedelta(hours=1) - MINUTE, 9000)
    assert behind(feed.probe()) == []


@pytest.mark.parametrize("rating", ["hold", "ignore"])
def test_it_is_rated_as_the_spec_says(tmp_path: Path, rating: str) -> None:
    source = f", same_content: ignore, falling_behind: {rating}"
    feed = Feed(History(tmp_path, source=source))
    growing(feed, minutes=58)
    assert behind(feed.probe()) == ([Rating.HOLD] if rating == "hold" else [])


def test_the_pipeline_is_behind_until_a_run_has_caught_up(feed: Feed) -> None:
    growing(feed, minutes=58)
    history = feed.history
    spec = history.project.spec(history.name)
    look(history, "first")
    found = read_standing(history.root, spec)
    assert found.state == "behind"
    assert ["Source orders" in one for one in found.decisions] == [True]
    history.start()
    history.batch(rows(9), inputs=sorted(history.inputs.glob("*.csv"))[-2:])
    look(history, "second")
    found = read_standing(history.root, spec)
    assert (found.state, found.decisions) == ("waiting", ())
