"""Doctor: a feed that stops arriving does not stay green."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.doctor_report import look
from tests.support.histories.history_builder import History, rows
from tidemill.contract.errors import ExitCode
from tidemill.contract.report import Outcome
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.overdue import FeedOverdue

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)

EXPECT = "expect: {every: 1 day, grace: 6h}"


@pytest.fixture
def expected(tmp_path: Path) -> History:
    """A feed of one file of noon, read and published, that should come every day."""
    history = History(tmp_path / "fed", more=EXPECT)
    history.batch(rows(1), inputs=[history.arrive("a.csv", at=NOON)])
    history.judge(history.seal().increment)
    history.publish()
    committed = history.layout.ledger("live-0001") / "000000.json"
    batch = history.ledger.batches()[0].model_copy(update={"committed": NOON + HOUR})
    committed.write_text(batch.model_dump_json())
    return history


def at(history: History, now: datetime) -> Outcome:
    return doctor(history.run("look"), now).outcome


def test_a_feed_is_overdue_after_interval_and_grace(expected: History) -> None:
    # Counted from when a run took the file in, which is later than the file's own date.
    due = NOON + HOUR + timedelta(hours=30)
    assert at(expected, due) is Outcome.SKIPPED
    with pytest.raises(FeedOverdue) as overdue:
        at(expected, due + timedelta(seconds=1))
    assert overdue.value.last_arrival == NOON + HOUR
    assert overdue.value.every == timedelta(days=1)
    assert overdue.value.exit_code == ExitCode.FAILED


def test_an_overdue_feed_is_no_matter_of_retries(expected: History) -> None:
    report = look(expected)
    assert (report.outcome, report.transient) == (Outcome.FAILED, False)
    assert report.error is not None
    assert report.error["code"] == "FeedOverdue"


def test_a_new_file_ends_it(expected: History) -> None:
    expected.arrive("b.csv")
    assert at(expected, NOON + 100 * timedelta(days=1)) is Outcome.DONE


def test_other_work_comes_first(expected: History) -> None:
    expected.batch(rows(2), inputs=[])
    assert at(expected, NOON + 100 * timedelta(days=1)) is Outcome.DONE


def test_a_batch_without_input_is_no_arrival(expected: History) -> None:
    expected.batch(rows(2), inputs=[])
    expected.judge(expected.seal().increment)
    expected.publish()
    with pytest.raises(FeedOverdue) as overdue:
        at(expected, NOON + timedelta(days=2))
    assert overdue.value.last_arrival == NOON + HOUR


def test_a_held_increment_does_not_hide_that_a_feed_stopped(expected: History) -> None:
    expected.batch([], inputs=[expected.arrive("b.csv", at=NOON)])
    expected.judge(expected.seal().increment, "held")
    with pytest.raises(FeedOverdue):
        at(expected, datetime.now(UTC) + timedelta(days=2))


def test_a_file_with_a_date_to_come_does_not_silence_it(tmp_path: Path) -> None:
    history = History(tmp_path / "fed", more=EXPECT)
    future = datetime.now(UTC) + timedelta(days=10_000)
    history.batch(rows(1), inputs=[history.arrive("a.csv", at=future)])
    history.judge(history.seal().increment)
    history.publish()
    with pytest.raises(FeedOverdue):
        at(history, datetime.now(UTC) + timedelta(days=2))


def test_a_feed_of_which_nothing_ever_came_is_overdue_from_the_first_look(tmp_path: Path) -> None:
    history = History(tmp_path / "fed", more=EXPECT)
    now = datetime.now(UTC)
    assert at(history, now + timedelta(days=100)) is Outcome.SKIPPED
    assert look(history, "first").outcome is Outcome.SKIPPED
    assert at(history, now + timedelta(hours=29)) is Outcome.SKIPPED
    with pytest.raises(FeedOverdue) as overdue:
        at(history, now + timedelta(hours=31))
    assert abs(overdue.value.last_arrival - now) < timedelta(minutes=5)
    os.utime(history.layout.run("first"), (NOON.timestamp(), NOON.timestamp()))
    assert look(history, "later").outcome is Outcome.FAILED
    with pytest.raises(FeedOverdue) as overdue:
        at(history, now)
    assert overdue.value.last_arrival == NOON


def test_without_expectation_no_feed_is_overdue(published: History) -> None:
    assert at(published, NOON + 10_000 * timedelta(days=1)) is Outcome.SKIPPED
