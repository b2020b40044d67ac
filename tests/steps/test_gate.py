"""What runs sealed and did not live to judge, the next one judges beside its own."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from tests.support.histories.history_builder import History, rows
from tests.support.histories.refused_states import published
from tidemill.contract.report import Outcome, Report
from tidemill.increments.increments import State
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.run_increment import read_run_increment
from tidemill.steps.gate import gate
from tidemill.steps.parts.run import perform


class Killed(BaseException):
    """A driver that is gone."""


@pytest.fixture
def history(history: History) -> History:
    published(history)
    return history


def judged_by(history: History, run_id: str) -> Report:
    return perform("gate", gate, history.run(run_id))


def killed_before_its_verdict(history: History, run_id: str) -> int:
    """What a run has sealed whose driver is gone before it has judged it."""
    with patch.object(Snapshot, "judge", side_effect=Killed), pytest.raises(Killed):
        judged_by(history, run_id)
    number = read_run_increment(history.layout.run(run_id))
    assert number is not None
    return number


def test_a_run_judges_what_a_killed_one_sealed_and_publishes_its_own_too(history: History) -> None:
    history.batch(rows(2))
    number = killed_before_its_verdict(history, "killed")
    history.batch(rows(3))
    assert judged_by(history, "next").outcome is Outcome.DONE
    assert read_run_increment(history.layout.run("next")) == number + 1
    assert {one.state for one in history.snapshot.increments} == {State.PASSED}
    assert history.publish("next").outcome is Outcome.DONE
    assert history.ids() == [1, 2, 3]


def test_if_that_is_held_its_own_waits_behind_it(history: History) -> None:
    history.batch([*rows(2), *rows(2)])
    number = killed_before_its_verdict(history, "killed")
    history.batch(rows(3))
    assert judged_by(history, "next").outcome is Outcome.DONE
    assert history.snapshot.get(number).state is State.HELD
    assert history.publish("next").outcome is Outcome.WAITING
    assert history.ids() == [1]


def test_a_run_without_new_rows_tells_what_becomes_of_those(history: History) -> None:
    history.batch([*rows(2), *rows(2)])
    number = killed_before_its_verdict(history, "killed")
    assert judged_by(history, "next").outcome is Outcome.HELD
    assert read_run_increment(history.layout.run("next")) == number


def test_a_run_that_comes_back_judges_what_it_has_sealed_itself(history: History) -> None:
    history.batch(rows(2))
    number = killed_before_its_verdict(history, "killed")
    (history.layout.run("killed") / "increment.json").unlink()
    history.batch(rows(3))
    assert judged_by(history, "killed").outcome is Outcome.DONE
    assert read_run_increment(history.layout.run("killed")) == number
    assert judged_by(history, "next").outcome is Outcome.DONE
    assert history.publish("next").outcome is Outcome.DONE
    assert history.ids() == [1, 2, 3]
