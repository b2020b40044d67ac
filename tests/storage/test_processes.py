"""Who a process is: alive, gone, elsewhere, or another one that got its pid."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.support.processes import child, wait_for
from tidemill.storage import processes as process
from tidemill.storage.processes import LAUNCHER_VARIABLE, ProcessId, launcher, this_process

SLEEP = "import signal; print('up', flush=True); signal.pause()"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEP

# A process with a child and a grandchild, the last of which ignores SIGTERM.
FAMILY = f"""
import subprocess, sys
stubborn = {STUBBORN!r}
between = "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', sys.argv[1]], " \\
    "stdout=subprocess.PIPE, text=True); p.stdout.readline(); print(p.pid, flush=True); p.wait()"
p = subprocess.Popen(
    [sys.executable, "-c", between, stubborn], stdout=subprocess.PIPE, text=True
)
print(p.pid, p.stdout.readline(), flush=True)
p.wait()
"""


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_this_process_is_here_and_alive() -> None:
    me = this_process()
    assert (me.pid, me.here, me.gone) == (os.getpid(), True, False)


def test_two_looks_at_a_process_agree() -> None:
    assert this_process() == this_process(os.getpid())
    with child(
        "from tidemill.storage.processes import this_process as t; "
        "print(t().model_dump_json(), flush=True); input()"
    ) as process:
        assert process.stdout is not None
        said = ProcessId.model_validate_json(process.stdout.readline())
        assert said == this_process(process.pid)


def test_a_killed_process_is_gone_even_before_it_is_reaped() -> None:
    with child(SLEEP) as process:
        who = this_process(process.pid)
        assert not who.gone
        process.kill()
        wait_for(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE)
        assert who.gone
        process.wait()
        assert who.gone


def test_another_process_with_the_same_pid_is_not_it() -> None:
    me = this_process()
    earlier = me.model_copy(update={"started": me.started - 1})
    assert earlier.here
    assert earlier.gone
    earlier.end()  # would otherwise be the end of this test run
    assert not me.gone


def test_a_clock_that_is_set_does_not_make_a_living_process_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Linux tells a start time by ticks since boot; the date of the boot moves with the clock.
    me = this_process()
    ours = psutil.Process(os.getpid()).create_time()
    monkeypatch.setattr(psutil.Process, "create_time", lambda _: ours + 3600)
    assert not me.gone
    assert this_process() == me


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], None]:
    """Gives this machine an identity, or takes it away."""

    def be(identity: str | None) -> None:
        monkeypatch.setattr(process, "_machine", lambda: identity)

    be("this machine")
    return be


def test_a_process_of_an_earlier_boot_of_this_machine_is_gone(machine: object) -> None:
    earlier = this_process().model_copy(update={"boot": "before"})
    assert (earlier.here, earlier.gone) == (False, True)


@pytest.mark.parametrize("identity", ["another machine", None])
def test_of_a_process_on_another_machine_with_this_host_name_nothing_is_known(
    machine: object, identity: str | None
) -> None:
    # A clone of a virtual machine, or a pod that was moved; None is of an older version of ours.
    who = this_process().model_copy(update={"boot": "another", "machine": identity})
    assert (who.here, who.gone) == (False, False)


def test_where_nothing_tells_machines_apart_an_earlier_boot_proves_nothing(
    machine: Callable[[str | None], None],
) -> None:
    machine(None)
    who = this_process().model_copy(update={"boot": "another"})
    assert (who.here, who.gone) == (False, False)


def test_an_identity_that_older_versions_did_not_write_is_not_missed_here(machine: object) -> None:
    text = this_process().model_dump_json(exclude={"machine"})
    me = ProcessId.model_validate_json(text)
    assert (me.here, me.gone) == (True, False)
    assert me.model_copy(update={"started": me.started - 1}).gone


def test_a_container_does_not_take_the_machine_id_of_its_image_for_the_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_image, of_hardware = tmp_path / "machine-id", tmp_path / "product_uuid"
    of_image.write_text("baked into the image\n")
    monkeypatch.setattr(process, "MACHINE_ID", of_image)
    monkeypatch.setattr(process, "PRODUCT_UUID", of_hardware)
    identity = process._machine.__wrapped__
    monkeypatch.setattr(process, "_namespace", lambda: process.MACHINE_NAMESPACE)
    assert identity() == "baked into the image"
    monkeypatch.setattr(process, "_namespace", lambda: 4026532181)
    assert identity() is None
    of_hardware.write_text("4c4c4544\n")
    assert identity() == "4c4c4544"


def test_a_time_of_boot_that_drifts_is_that_of_the_same_boot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "_boot", lambda: "1700000000.0")
    drifted = this_process().model_copy(update={"boot": "1700000012.5"})
    assert (drifted.here, drifted.gone) == (True, False)
    earlier = this_process().model_copy(update={"boot": "1600000000.0"})
    assert not earlier.here


@pytest.mark.parametrize("change", [{"host": "elsewhere"}, {"namespace": 1}])
def test_of_a_process_elsewhere_nothing_is_known(change: dict[str, object]) -> None:
    # Another host, or another container on this one, where pids mean other process.
    who = this_process().model_copy(update={"pid": 2**22 - 1, **change})
    assert (who.here, who.gone) == (False, False)


def test_ending_a_process_ends_all_that_it_started() -> None:
    with child(FAMILY) as process:
        assert process.stdout is not None
        pids = [process.pid, *map(int, (process.stdout.readline().split()))]
        assert len(pids) == 3
        assert all(alive(pid) for pid in pids)
        this_process(process.pid).end(patience=0.3)
        assert not any(alive(pid) for pid in pids)


def test_ending_a_process_that_has_ended_is_nothing() -> None:
    with child("print('bye')") as process:
        who = this_process(process.pid)
        process.wait()
        who.end()
        assert who.gone


def test_the_launcher_is_whoever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(LAUNCHER_VARIABLE, raising=False)
    assert launcher() is None
    monkeypatch.setenv(LAUNCHER_VARIABLE, this_process().model_dump_json())
    assert launcher() == this_process()


@pytest.mark.parametrize("said", ["", "nonsense", "123:", "{}"])
def test_a_launcher_that_cannot_be_understood_is_none(
    monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv(LAUNCHER_VARIABLE, said)
    assert launcher() is None
