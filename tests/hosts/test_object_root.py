"""A writer on another host is paused and succeeded, and the root is in an object store.

The histories and their oracle are those of `test_paused_writers`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosts import test_paused_writers as histories
from tests.hosts.host import writer_elsewhere
from tests.hosts.reader import State, reading
from tests.servers.s3 import S3
from tests.support.histories.history_builder import History, row, rows
from tests.support.processes import wait_for
from tests.support.s3_root import new_root
from tidemill.contract.errors import LeaseHeld
from tidemill.contract.report import Outcome
from tidemill.storage import lease
from tidemill.storage.lease import current_holder, hold, newest_epoch

# Seconds without a beat after which we take the other host's writer for dead. A store tells the
# time of a beat in whole seconds.
TIME_LIMIT = 2.5


@pytest.fixture
def history(tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch) -> History:
    watch = lease._Watch
    monkeypatch.setattr(lease, "_Watch", lambda folder, _: watch(folder, TIME_LIMIT))
    return History(tmp_path, bucket=new_root(s3, monkeypatch))


@pytest.fixture
def published(history: History) -> History:
    history.increment([row(1), row(2, histories.SECOND)])
    assert history.publish().outcome is Outcome.DONE
    return history


def test_a_swap_that_was_paused_takes_away_no_row_that_went_out_meanwhile(
    published: History,
) -> None:
    histories.test_a_swap_that_was_paused_takes_away_no_row_that_went_out_meanwhile(
        published, histories.EVENT
    )


def test_a_row_that_a_paused_swap_moves_between_the_tables_is_always_in_one_of_them(
    history: History,
) -> None:
    moves = (
        histories.test_a_row_that_a_paused_swap_moves_between_the_tables_is_always_in_one_of_them
    )
    moves(history)


def test_an_increment_that_was_computed_again_meanwhile_is_not_let_out(published: History) -> None:
    histories.test_an_increment_that_was_computed_again_meanwhile_is_not_let_out(
        published, "the redo is published"
    )


def test_a_gate_that_was_paused_does_not_take_another_runs_increment_for_its_own(
    history: History,
) -> None:
    gates = histories.test_a_gate_that_was_paused_does_not_take_another_runs_increment_for_its_own
    gates(history)


def test_a_paused_writer_that_was_succeeded_leaves_as_soon_as_it_wakes(published: History) -> None:
    histories.test_a_paused_writer_that_was_succeeded_leaves_as_soon_as_it_wakes(published)


def test_two_hosts_that_publish_at_the_same_time_publish_each_row_once(history: History) -> None:
    for number in range(1, 4):
        history.increment(rows(number))
    with (
        reading(history.layout) as reader,
        writer_elsewhere(history, "publish", "elsewhere") as writer,
    ):
        here = history.publish("here")
        there = writer.wait_for_line("ended")
    # Whoever came second waited for the lease in vain, or found nothing left to do.
    assert {str(here.outcome), there} <= {"done", "skipped", "failed", "LeaseHeld"}, (here, there)
    histories.publish_all(history)
    assert history.ids() == [1, 2, 3]
    states: list[State] = [(tuple(range(1, last + 1)), ()) for last in range(4)]
    assert reader.strays(states) == []


def test_a_writer_elsewhere_that_lives_is_not_succeeded(history: History) -> None:
    with writer_elsewhere(history, "hold", "60", twin=True) as writer:
        writer.wait_for_line("stopped")
        wait_for(lambda: current_holder(history.layout.lease) is not None)
        with (
            pytest.raises(LeaseHeld),
            hold(history.layout.lease, step="x", run_id="here", patience=0, time_limit=3.0),
        ):
            pass
        assert newest_epoch(history.layout.lease) == 1
        assert writer.go_on() == "done"
