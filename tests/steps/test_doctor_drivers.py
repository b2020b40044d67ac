"""Doctor: a driver that outlived its task is ended, and no other."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.support.doctor_report import look, work
from tests.support.histories.history_builder import History
from tests.support.processes import child
from tidemill.contract.report import Outcome
from tidemill.storage import documents
from tidemill.storage.lease import Holder, newest_epoch
from tidemill.storage.processes import ProcessId, this_process

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def hold_for(history: History, process: ProcessId, launcher: ProcessId | None) -> None:
    """Make a process the holder of the lease."""
    epoch = newest_epoch(history.layout.lease) + 1
    holder = Holder(
        epoch=epoch,
        step="ingest",
        run_id="the other",
        process=process,
        launcher=launcher,
        since=NOON,
    )
    assert documents.put_if_absent(history.layout.lease / f"{epoch:06d}.json", holder)


def gone() -> ProcessId:
    """Our own pid, of a process that had it and has ended."""
    return this_process().model_copy(update={"started": 0.0})


def test_a_driver_that_outlived_its_task_is_ended(published: History) -> None:
    with child("import signal; signal.pause()") as driver:
        process = this_process(driver.pid)
        hold_for(published, process, launcher=gone())
        assert look(published).outcome is Outcome.SKIPPED
        assert process.gone


@pytest.mark.parametrize("launched", [True, False])
def test_a_driver_that_did_not_outlive_its_task_is_left_alone(
    published: History, launched: bool
) -> None:
    with child("import signal; signal.pause()") as driver:
        process = this_process(driver.pid)
        hold_for(published, process, launcher=this_process() if launched else None)
        assert look(published).outcome is Outcome.SKIPPED
        assert not process.gone


def test_a_dead_holder_stops_nobody(published: History) -> None:
    hold_for(published, gone(), launcher=gone())
    published.arrive("new.csv")
    assert work(look(published)) == [("ingest", None)]
