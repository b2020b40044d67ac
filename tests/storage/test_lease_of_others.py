"""The lease: holders of another pid, boot, host or container."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.histories.lease_holders import elsewhere, holder_of, write
from tests.support.processes import child
from tidemill.contract.errors import LeaseHeld
from tidemill.storage import lease
from tidemill.storage import processes as process
from tidemill.storage.lease import acquire, hold, newest_epoch
from tidemill.storage.processes import this_process


def test_another_process_with_the_holders_pid_is_not_taken_for_it(folder: Path) -> None:
    me = this_process()
    write(folder, holder_of(me.model_copy(update={"started": me.started - 5}), launcher=None))
    with hold(folder, step="x", run_id="r", patience=0) as held:
        assert held.epoch == 2


def test_a_holder_of_an_earlier_boot_is_succeeded_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_machine", lambda: "this machine")
    write(folder, holder_of(this_process().model_copy(update={"boot": "before"})))
    with hold(folder, step="x", run_id="r", patience=0) as held:
        assert held.epoch == 2


def test_a_silent_holder_elsewhere_is_succeeded_after_the_time_limit(folder: Path) -> None:
    # Even by a step whose patience with living holders is shorter.
    write(folder, holder_of(elsewhere()))
    with hold(folder, step="x", run_id="r", patience=0, time_limit=0.3) as held:
        assert held.epoch == 2


def test_a_silent_holder_elsewhere_is_succeeded_though_the_store_answers_slowly(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds, look = [0.0], lease._look

    def pass_by(more: float) -> None:
        seconds[0] += more

    def look_slowly(*given: Any) -> Any:
        pass_by(5)
        return look(*given)

    monkeypatch.setattr(lease, "_look", look_slowly)
    clock = SimpleNamespace(monotonic=lambda: seconds[0], sleep=pass_by)
    monkeypatch.setattr(lease, "time", clock)
    write(folder, holder_of(elsewhere()))
    assert acquire(folder, step="x", run_id="r", patience=30, time_limit=60) == 2
    assert seconds[0] > 60


@pytest.mark.parametrize("stamp", [0, 4_102_444_800])
def test_whatever_time_a_beat_bears_only_its_change_counts(folder: Path, stamp: int) -> None:
    write(folder, holder_of(elsewhere()))
    beat = folder / "000001.beat"
    beat.touch()
    os.utime(beat, (stamp, stamp))
    with hold(folder, step="x", run_id="r", patience=0, time_limit=0.3) as held:
        assert held.epoch == 2


@pytest.mark.parametrize(
    "holder",
    [{"host": "elsewhere"}, {"boot": "another"}, {"boot": "another", "machine": "another"}],
    ids=["elsewhere", "where nothing tells machines apart", "on a machine of our name"],
)
def test_a_beating_holder_of_another_machine_is_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch, holder: dict[str, str]
) -> None:
    identity = "this machine" if "machine" in holder else None
    monkeypatch.setattr(process, "_machine", lambda: identity)
    write(folder, holder_of(this_process().model_copy(update=holder)))
    done = threading.Event()

    def beat() -> None:
        while not done.wait(0.02):
            (folder / "000001.beat").touch()

    beating = threading.Thread(target=beat)
    beating.start()
    try:
        with (
            pytest.raises(LeaseHeld),
            hold(folder, step="x", run_id="r", patience=1, time_limit=0.5),
        ):
            pass
    finally:
        done.set()
        beating.join()
    assert newest_epoch(folder) == 1


def test_a_holder_elsewhere_is_not_ended_though_its_launcher_is_gone(folder: Path) -> None:
    # Its pids mean nothing here; they may be those of others.
    gone = this_process().model_copy(update={"started": 0.0})
    with child("import signal; signal.pause()") as process:
        write(folder, holder_of(elsewhere(pid=process.pid), launcher=gone))
        with hold(folder, step="x", run_id="r", patience=0, time_limit=0.3):
            assert process.poll() is None
