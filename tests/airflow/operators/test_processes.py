"""A step is killed with everything that it started."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

import psutil
import pytest

from tidemill_airflow.operators.processes import StepProcess

# A step that starts a grandchild in a process group of its own, as Spark's Python daemon does, and
# then tells both pids. `{stubborn}` is what both do about SIGTERM.
FAMILY = """
import os, signal, subprocess, sys, time
{stubborn}
child = subprocess.Popen(
    [sys.executable, "-c", '''{stubborn_import}
print("ready", flush=True)
time.sleep(600)'''],
    process_group=0, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
)
child.stdout.readline()
print(os.getpid(), child.pid, flush=True)
time.sleep(600)
"""
IGNORE = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


def family(*, stubborn: bool) -> list[str]:
    line = IGNORE if stubborn else ""
    script = FAMILY.format(stubborn=line, stubborn_import=f"import signal, time\n{line}")
    return [sys.executable, "-c", script]


def run(command: list[str], log: Callable[[StepProcess, str], object]) -> int:
    process = StepProcess(command, os.environ, lambda line: log(process, line))
    return process.run()


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_output_comes_line_by_line_and_the_exit_code_is_the_steps() -> None:
    lines: list[str] = []
    script = "import sys; print('one'); print('two', file=sys.stderr); sys.exit(3)"
    code = run([sys.executable, "-uc", script], lambda _, line: lines.append(line))
    assert (code, lines) == (3, ["one", "two"])


def test_output_that_is_no_utf8_does_not_end_the_step() -> None:
    lines: list[str] = []
    script = r"import os; os.write(1, b'caf\xe9\n')"
    assert run([sys.executable, "-c", script], lambda _, line: lines.append(line)) == 0
    assert lines == ["caf\N{REPLACEMENT CHARACTER}"]


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_kill_reaches_the_whole_family(stubborn: bool) -> None:
    pids: list[int] = []
    killers: list[threading.Thread] = []

    def kill(process: StepProcess, line: str) -> None:
        pids.extend(map(int, line.split()))
        # As Airflow does it: from outside, while the task reads the step's output.
        killers.append(threading.Thread(target=process.kill))
        killers[-1].start()

    code = run(family(stubborn=stubborn), kill)
    killers[0].join()
    assert code in (-15, -9)
    assert len(pids) == 2
    assert not any(map(alive, pids))


def test_a_timeout_in_the_task_ends_the_step() -> None:
    pids: list[int] = []

    def time_out(_: StepProcess, line: str) -> None:
        pids.extend(map(int, line.split()))
        raise TimeoutError

    with pytest.raises(TimeoutError):
        run(family(stubborn=False), time_out)
    assert not any(map(alive, pids))


def test_killing_a_step_that_has_ended_does_nothing() -> None:
    process = StepProcess([sys.executable, "-c", ""], os.environ, str)
    assert process.run() == 0
    process.kill()
