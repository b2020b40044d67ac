"""The lease: one writer at a time, whatever became of the one before."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.histories.lease_holders import elsewhere, holder_of, write
from tests.support.processes import child, wait_for
from tidemill.contract.errors import LeaseHeld, LeaseLost, TransientError
from tidemill.storage import heartbeat, lease
from tidemill.storage.lease import Holder, Lease, current_holder, hold, newest_epoch
from tidemill.storage.processes import LAUNCHER_VARIABLE, this_process

HOLD = """
import signal, sys
from pathlib import Path
from tidemill.storage.lease import hold
with hold(Path(sys.argv[1]), step="ingest", run_id="the other"):
    print("held", flush=True)
    signal.pause()
"""

# Holds the lease while another host takes it over.
HOLD_AND_LOSE = """
import signal, sys
from pathlib import Path
from tidemill.contract.errors import LeaseLost
from tidemill.storage import heartbeat, lease
from tests.support.histories.lease_holders import elsewhere, holder_of, write
from tests.support.processes import wait_for
heartbeat.BEAT_SECONDS = 0.01
if sys.argv[2] == "to leave":
    lease.leave_on_loss()
with lease.hold(Path(sys.argv[1]), step="ingest", run_id="r") as held:
    print("held", flush=True)
    write(Path(sys.argv[1]), holder_of(elsewhere(), epoch=2))
    wait_for(lambda: not held.heartbeat._thread.is_alive())
    try:
        held.check()
    except LeaseLost:
        print("the step ends")
"""

# Enters and leaves the lease again and again; two at once would meet in `inside`.
TAKE_TURNS = """
import sys
from pathlib import Path
from tidemill.storage.lease import hold
folder = Path(sys.argv[1])
for _ in range(5):
    with hold(folder / "lease", step="ingest", run_id=sys.argv[2], patience=60) as lease:
        (folder / "inside").mkdir()
        print(lease.epoch)
        (folder / "inside").rmdir()
"""

# A task that starts a driver which holds the lease, and waits for it.
LAUNCH = """
import os, subprocess, sys
from tidemill.storage.processes import LAUNCHER_VARIABLE, this_process
environ = {**os.environ, LAUNCHER_VARIABLE: this_process().model_dump_json()}
driver = subprocess.Popen(
    [sys.executable, "-c", sys.argv[1], sys.argv[2]],
    env=environ, stdout=subprocess.PIPE, text=True, start_new_session=True,
)
driver.stdout.readline()
print(driver.pid, flush=True)
driver.wait()
"""


@contextmanager
def another_holder(folder: Path) -> Iterator[int]:
    with child(HOLD, folder) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process.pid


def test_epochs_grow_by_one(folder: Path) -> None:
    seen = []
    for _ in range(3):
        with hold(folder, step="gate", run_id="r") as held:
            seen.append(held.epoch)
            assert newest_epoch(folder) == held.epoch
    assert seen == [1, 2, 3]


def test_the_holder_says_who_it_is_and_for_which_run(folder: Path) -> None:
    assert current_holder(folder) is None
    with hold(folder, step="gate", run_id="r"):
        holder = current_holder(folder)
        assert holder is not None
        assert (holder.step, holder.run_id, holder.process) == ("gate", "r", this_process())
    assert current_holder(folder) is None


def test_an_error_releases_it_too(folder: Path) -> None:
    with pytest.raises(ZeroDivisionError), hold(folder, step="gate", run_id="r"):
        raise ZeroDivisionError
    assert current_holder(folder) is None


def test_four_processes_take_turns(tmp_path: Path) -> None:
    with ExitStack() as stack:
        writers = [stack.enter_context(child(TAKE_TURNS, tmp_path, str(n))) for n in range(4)]
        said = [process.communicate()[0] for process in writers]
        assert [process.returncode for process in writers] == [0] * 4, said
    epochs = sorted(int(line) for text in said for line in text.split())
    assert epochs == list(range(1, 21))


def test_a_killed_holder_is_succeeded_at_once(folder: Path) -> None:
    with another_holder(folder) as pid:
        psutil.Process(pid).kill()
        wait_for(lambda: this_process_gone(folder))
        with hold(folder, step="publish", run_id="r", patience=0) as held:
            assert held.epoch == 2


def this_process_gone(folder: Path) -> bool:
    holder = current_holder(folder)
    assert holder is not None
    return holder.process.gone


def test_a_living_holder_is_waited_for_and_then_an_error_that_may_be_retried(folder: Path) -> None:
    with another_holder(folder) as pid:
        with pytest.raises(LeaseHeld) as held, hold(folder, step="gate", run_id="r", patience=0.3):
            pass
        assert isinstance(held.value, TransientError)
        assert held.value.epoch == 1
        assert held.value.holder["process"]["pid"] == pid
        assert (held.value.holder["step"], held.value.holder["run_id"]) == ("ingest", "the other")
        assert psutil.pid_exists(pid)
    assert newest_epoch(folder) == 1


def test_a_holder_that_ends_in_time_is_succeeded(folder: Path) -> None:
    with another_holder(folder) as pid:
        waiting = threading.Timer(0.3, psutil.Process(pid).terminate)
        waiting.start()
        with hold(folder, step="gate", run_id="r", patience=20) as held:
            assert held.epoch == 2


def test_a_driver_that_outlived_its_task_is_ended(folder: Path) -> None:
    with child(LAUNCH, HOLD, folder) as task:
        assert task.stdout is not None
        driver = this_process(int(task.stdout.readline()))
        task.kill()
        task.wait()
        assert not driver.gone
        with hold(folder, step="ingest", run_id="retry", patience=0) as held:
            assert held.epoch == 2
            assert driver.gone


def test_a_driver_whose_task_lives_is_waited_for(folder: Path) -> None:
    with child(LAUNCH, HOLD, folder) as task:
        assert task.stdout is not None
        driver = this_process(int(task.stdout.readline()))
        try:
            with pytest.raises(LeaseHeld), hold(folder, step="x", run_id="r", patience=0.3):
                pass
            assert not driver.gone
        finally:
            driver.end()


def test_a_driver_that_cannot_be_ended_is_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = this_process().model_copy(update={"started": 0.0})
    with child("import signal; signal.pause()") as process:
        write(folder, holder_of(this_process(process.pid), launcher=gone))

        def denied(*_: object) -> None:
            raise psutil.AccessDenied

        monkeypatch.setattr(psutil.Process, "send_signal", denied)
        monkeypatch.setattr(lease, "END_PATIENCE_SECONDS", 0.1)
        with pytest.raises(LeaseHeld), hold(folder, step="x", run_id="r", patience=0):
            pass


def test_whoever_looks_while_another_takes_over_does_not_take_over_from_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The holder seen was dead, but epoch 2 is alive: epoch 3 must not be taken.
    write(folder, holder_of(this_process().model_copy(update={"started": 0.0})))
    looked = lease._Watch.dead

    def overtaken(watch: Any, holder: Holder) -> bool:
        dead = looked(watch, holder)
        if dead:
            write(folder, holder_of(this_process(), epoch=2))
        return dead

    monkeypatch.setattr(lease._Watch, "dead", overtaken)
    with pytest.raises(LeaseHeld) as held, hold(folder, step="x", run_id="r", patience=0):
        pass
    assert held.value.epoch == 2
    assert newest_epoch(folder) == 2


def test_a_writer_that_was_fenced_out_is_told(folder: Path) -> None:
    with hold(folder, step="ingest", run_id="r") as held:
        held.check()
        write(folder, holder_of(elsewhere(), epoch=held.epoch + 1))
        with pytest.raises(LeaseLost) as lost:
            held.check()
    assert (lost.value.epoch, lost.value.newer) == (1, 2)
    holder = current_holder(folder)
    assert holder is not None
    assert holder.epoch == 2


def test_the_beat_goes_on_and_notices_the_loss(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.01)
    losses: list[LeaseLost] = []
    beat = folder / "000001.beat"
    with hold(folder, step="ingest", run_id="r", on_loss=losses.append):
        wait_for(beat.exists)
        first = beat.stat().st_mtime_ns
        wait_for(lambda: beat.stat().st_mtime_ns != first)
        assert not losses
        write(folder, holder_of(elsewhere(), epoch=2))
        wait_for(lambda: losses)
    assert [lost.newer for lost in losses] == [2]


def test_the_beat_of_a_released_lease_stops(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.01)
    threads = threading.active_count()
    with hold(folder, step="ingest", run_id="r"):
        assert threading.active_count() == threads + 1
    assert threading.active_count() == threads


@pytest.mark.parametrize("told", ["to leave", "nothing"])
def test_only_a_process_that_was_told_to_leaves_when_its_lease_is_lost(
    folder: Path, told: str
) -> None:
    with child(HOLD_AND_LOSE, folder, told) as process:
        said = process.communicate()[0]
    left = (1, ["held", "LeaseLost"]) if told == "to leave" else (0, ["held", "the step ends"])
    words = [line.removeprefix("tidemill: ").partition(":")[0] for line in said.splitlines()]
    assert (process.returncode, words) == left, said


def test_a_link_that_was_made_though_its_answer_was_lost_is_our_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # NFS repeats the request, and is told that the name is taken.
    link = os.link

    def answer_lost(draft: Path, path: Path) -> None:
        link(draft, path)
        link(draft, path)

    monkeypatch.setattr(os, "link", answer_lost)
    with hold(folder, step="gate", run_id="r", patience=0) as held:
        assert held.epoch == 1
    assert current_holder(folder) is None


def test_a_lease_can_be_checked_before_it_is_lost(folder: Path) -> None:
    Lease(folder, 0).check()


def test_the_launcher_is_written_down(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LAUNCHER_VARIABLE, this_process().model_dump_json())
    with hold(folder, step="ingest", run_id="r"):
        holder = current_holder(folder)
        assert holder is not None
        assert holder.launcher == this_process()


@pytest.mark.parametrize("step", ["ingest", "stream"])
def test_who_meets_a_writer_is_told_what_ends_it_and_writes_when_it_has_ended(
    folder: Path, step: str
) -> None:
    with (
        hold(folder, step=step, run_id="other"),
        pytest.raises(LeaseHeld) as refused,
        hold(folder, step="gate", run_id="r", patience=0),
    ):
        raise AssertionError
    assert ("--stop" in refused.value.remedy) is (step == "stream")
    with hold(folder, step="gate", run_id="r", patience=0) as lease:
        assert lease.epoch == 2
