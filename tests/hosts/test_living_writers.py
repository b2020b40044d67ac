"""A writer on another host that lives is not succeeded, whatever happens to the share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosts.host import OTHER_NAME, writer_elsewhere
from tests.support.histories.history_builder import History, rows
from tidemill.contract.errors import LeaseHeld
from tidemill.contract.report import Outcome
from tidemill.storage.lease import current_holder, hold, newest_epoch
from tidemill.storage.processes import this_process

# The writer beats every tenth of a second, and a busy machine may make it wait.
TIME_LIMIT = 3.0


def refused(history: History) -> None:
    with (
        pytest.raises(LeaseHeld),
        hold(history.layout.lease, step="x", run_id="here", patience=0, time_limit=TIME_LIMIT),
    ):
        pass
    assert newest_epoch(history.layout.lease) == 1


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path)


def test_a_writer_on_another_machine_with_our_host_name_is_waited_for(history: History) -> None:
    with writer_elsewhere(history, "hold", "60", twin=True) as writer:
        writer.wait_for_line("stopped")
        holder = current_holder(history.layout.lease)
        assert holder is not None
        assert holder.process.host == this_process().host
        assert (holder.process.here, holder.process.gone) == (False, False)
        refused(history)
        assert writer.go_on() == "done"


def test_a_share_that_is_away_for_a_moment_makes_no_second_writer(history: History) -> None:
    lease = history.layout.lease
    away = lease.with_name("away")
    with writer_elsewhere(history, "hold", "60") as writer:
        writer.wait_for_line("stopped")
        lease.rename(away)
        writer.wait_for_line("heartbeat of epoch 1 failed")
        away.rename(lease)
        holder = current_holder(lease)
        assert holder is not None
        assert holder.process.host == OTHER_NAME
        refused(history)
        assert writer.go_on() == "done"
    assert current_holder(lease) is None


def test_a_writer_whose_share_stays_away_leaves_before_it_is_succeeded(history: History) -> None:
    lease = history.layout.lease
    history.increment(rows(1))
    first = newest_epoch(lease)
    with writer_elsewhere(history, "hold", "1") as writer:
        writer.wait_for_line("stopped")
        lease.rename(lease.with_name("away"))
        assert writer.wait_for_line("tidemill: ").startswith("LeaseLost")
        assert writer.process.wait() == 1
        lease.with_name("away").rename(lease)
        with hold(lease, step="x", run_id="here", patience=0, time_limit=0.5) as held:
            assert held.epoch == first + 2
    assert history.publish().outcome is Outcome.DONE
    assert history.ids() == [1]
