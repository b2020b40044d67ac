"""The library lets just the call go wrong that it was told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.library import Fault
from tests.support.processes import child

# Puts a file in its place as a careful program does, where calls are counted, and one elsewhere.
WRITES = """
import ctypes, os, sys
from pathlib import Path
from tests.faults.library import Fault, armed

home, fault, call = Path(sys.argv[1]), Fault[sys.argv[2]], int(sys.argv[3])
draft, file = home / "here" / "draft", home / "here" / "file"
with armed(home / "here", call, fault, report=1) as counted:
    (home / "elsewhere").write_text("not counted")
    try:
        draft.parent.mkdir(exist_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT)
        os.write(descriptor, b"x" * 40)
        os.fsync(descriptor)
        os.link(draft, file)
        draft.unlink()
        ctypes.CDLL(None).remove(bytes(file))
    except OSError as error:
        print(error.strerror)
print("calls", counted.calls, "hit", counted.hit)
"""


def calls_of(home: Path, environ: dict[str, str], fault: str, call: int) -> tuple[list[str], int]:
    """What the process said, without paths, and its exit code."""
    (home / "here").mkdir(exist_ok=True)
    with child(WRITES, home, fault, str(call), environ=environ) as process:
        said, _ = process.communicate()
    return [line.split(" /")[0] for line in said.splitlines()], process.returncode


def test_every_call_that_changes_something_is_counted(
    tmp_path: Path, with_faults: dict[str, str]
) -> None:
    said, _ = calls_of(tmp_path, with_faults, "COUNT", 0)
    *calls, end = said
    # Python unlinks, and Java's File.delete removes.
    assert calls == ["mkdir", "open", "write", "fsync", "link", "unlink", "unlink"]
    assert end == "calls 7 hit False"


def test_a_process_is_killed_before_the_call(tmp_path: Path, with_faults: dict[str, str]) -> None:
    assert calls_of(tmp_path, with_faults, "KILL", 5) == (["link"], -9)
    assert [(file.name, file.stat().st_size) for file in (tmp_path / "here").iterdir()] == [
        ("draft", 40)
    ]


def test_or_after_half_of_what_it_writes(tmp_path: Path, with_faults: dict[str, str]) -> None:
    assert calls_of(tmp_path, with_faults, "TEAR", 3) == (["write"], -9)
    assert (tmp_path / "here" / "draft").stat().st_size == 20


@pytest.mark.parametrize(
    ("fault", "call", "said"),
    [
        ("FULL_ONCE", 3, ["write", "No space left on device", "calls 3 hit True"]),
        ("FULL", 2, ["open", "No space left on device", "calls 2 hit True"]),
        ("BROKEN", 4, ["fsync", "Input/output error", "calls 4 hit True"]),
        # It gives space back.
        ("FULL", 6, ["calls 7 hit False"]),
        ("BROKEN", 6, ["unlink", "Input/output error", "calls 6 hit True"]),
    ],
)
def test_or_the_call_fails(
    tmp_path: Path, with_faults: dict[str, str], fault: str, call: int, said: list[str]
) -> None:
    assert calls_of(tmp_path, with_faults, fault, call) == (said, 0)
    assert (tmp_path / "elsewhere").exists()


def test_a_disk_that_stays_full_takes_half_of_a_write_and_then_nothing(
    tmp_path: Path, with_faults: dict[str, str]
) -> None:
    said, _ = calls_of(tmp_path, with_faults, "FULL", 3)
    assert said == ["write", "No space left on device", "calls 4 hit True"]
    assert (tmp_path / "here" / "draft").stat().st_size == 20


# Writes two files, in a process that its environment arms.
WRITES_TWO = """
import sys
from pathlib import Path

home = Path(sys.argv[1])
for name in ("first", "second"):
    (home / name).write_text("whole")
print("still here")
"""


@pytest.mark.parametrize(
    ("program", "fault", "left"),
    [
        ("python", "TEAR", {"first": "whole", "second": "wh"}),
        ("python", "KILL_AFTER", {"first": "whole", "second": "whole"}),
        ("bin/java", "TEAR", {"first": "whole", "second": "whole"}),
    ],
)
def test_a_process_is_armed_by_its_environment_at_calls_that_fit_a_pattern(
    tmp_path: Path, with_faults: dict[str, str], program: str, fault: str, left: dict[str, str]
) -> None:
    _, which, error = Fault[fault].value
    armed = {
        "FAULTS_PROGRAM": program,
        "FAULTS_FOLDER": str(tmp_path),
        "FAULTS_PATTERN": "write */second",
        "FAULTS_CALL": "1",
        "FAULTS_FAULT": str(which),
        "FAULTS_ERROR": str(error),
        "FAULTS_REPORT": str(tmp_path.with_suffix(".hit")),
    }
    with child(WRITES_TWO, tmp_path, environ={**with_faults, **armed}) as process:
        said, _ = process.communicate()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == left
    # No call below the folder follows the last write, before which a late kill would come.
    assert (process.returncode == -9) == (left["second"] == "wh")
    assert (said == "") == (process.returncode == -9)
    hit = tmp_path.with_suffix(".hit")
    said_of_hit = hit.read_text() if hit.exists() else ""
    assert said_of_hit == ("" if "java" in program else f"write {tmp_path}/second\n")


# Writes, and says how long ago its file was changed by its own clock and by that of the disk.
WRITES_AND_LOOKS = """
import sys, time
from pathlib import Path

file = Path(sys.argv[1]) / "file"
for _ in range(2):
    file.write_text("whole")
    print(round((time.time() - file.stat().st_mtime) / 3600), flush=True)
"""


def arming(folder: Path, fault: Fault, pattern: str) -> dict[str, str]:
    """The variables that let a Python process meet a fault at the first call of a pattern."""
    _, which, number = fault.value
    return {
        "FAULTS_PROGRAM": "python",
        "FAULTS_FOLDER": str(folder),
        "FAULTS_PATTERN": pattern,
        "FAULTS_CALL": "1",
        "FAULTS_FAULT": str(which),
        "FAULTS_ERROR": str(number),
    }


def test_the_clock_goes_back_at_a_call_from_where_the_environment_has_set_it(
    tmp_path: Path, with_faults: dict[str, str]
) -> None:
    armed = arming(tmp_path, Fault.CLOCK, "write *") | {"FAULTS_CLOCK": "7200"}
    with child(WRITES_AND_LOOKS, tmp_path, environ={**with_faults, **armed}) as process:
        said, _ = process.communicate()
    assert said.splitlines() == ["-3", "-3"]
    del armed["FAULTS_FAULT"]
    with child(WRITES_AND_LOOKS, tmp_path, environ={**with_faults, **armed}) as process:
        said, _ = process.communicate()
    assert said.splitlines() == ["-2", "-2"]


# Waits for a deadline by the time of day, and says whether it is past.
WAITS = """
import ctypes, sys, time

class Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]

deadline = time.time() + 0.1
condition, mutex = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
library = ctypes.CDLL(None)
library.pthread_mutex_lock(mutex)
at = Time(int(deadline), int(deadline % 1 * 1e9))
getattr(library, sys.argv[1])(condition, mutex, ctypes.byref(at))
print(time.time() >= deadline)
"""


@pytest.mark.parametrize("seconds", [0, 3600])
@pytest.mark.parametrize("wait", ["pthread_cond_timedwait", "cnd_timedwait"])
def test_a_deadline_comes_when_the_clock_of_the_process_says_so(
    with_faults: dict[str, str], wait: str, seconds: int
) -> None:
    environ = {**with_faults, "FAULTS_CLOCK": str(seconds)}
    with child(WAITS, wait, environ=environ) as process:
        said, _ = process.communicate()
    assert said == "True\n"


def test_a_process_stops_before_the_call_and_does_it_when_it_is_continued(
    tmp_path: Path, with_faults: dict[str, str]
) -> None:
    armed = arming(tmp_path, Fault.STOP, "write */second")
    process = subprocess.Popen(
        [sys.executable, "-c", WRITES_TWO, str(tmp_path)], env={**with_faults, **armed}
    )
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    left = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert left == {"first": "whole", "second": ""}
    process.send_signal(signal.SIGCONT)
    assert process.wait() == 0
    assert (tmp_path / "second").read_text() == "whole"


def test_every_call_that_is_done_is_recorded_beside_the_fault(
    tmp_path: Path, with_faults: dict[str, str]
) -> None:
    home, record = tmp_path / "home", tmp_path / "record"
    home.mkdir()
    armed = arming(home, Fault.KILL, "write */second") | {"FAULTS_RECORD": str(record)}
    with child(WRITES_TWO, home, environ={**with_faults, **armed}) as process:
        process.communicate()
    first = home / "first"
    assert process.returncode == -9
    assert record.read_text().splitlines() == [
        f"open {first}",
        f"write {first}",
        f"open {home / 'second'}",
    ]
