"""The C libraries of these tests: compiled when they are first needed, preloaded by a process."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tidemill.contract.project import REPOSITORY

FAULTS = Path(__file__).with_name("faults.c")
FULL_DISK = Path(__file__).with_name("full_disk.c")
BUILT = REPOSITORY / ".artefacts" / "faults"


class NoCompiler(Exception):
    """Nothing here compiles C, or nothing preloads a library."""


def compiler() -> str:
    """The C compiler of this machine.

    Raises:
        NoCompiler: there is no C compiler, or this is not Linux.
    """
    found = shutil.which("cc")
    if sys.platform != "linux" or found is None:
        raise NoCompiler(
            "The tests build C libraries for Linux: they need Linux and a C compiler named `cc`, "
            "such as `apt install gcc libc6-dev`."
        )
    return found


def built(source: Path) -> Path:
    """The shared library of a C file, compiled unless that was done before.

    Raises:
        NoCompiler: there is no C compiler, or this is not Linux.
    """
    program = compiler()
    content = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    library = BUILT / f"{source.stem}-{content}.so"
    if not library.exists():
        BUILT.mkdir(parents=True, exist_ok=True)
        draft = library.with_name(f".{library.name}.{os.getpid()}")
        options = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        command = [program, *options, "-o", str(draft), str(source), "-ldl"]
        subprocess.run(command, check=True)
        draft.replace(library)
    return library


def preloading(source: Path) -> dict[str, str]:
    """The variables of a process that is to have the library of a C file under it."""
    return {**os.environ, "LD_PRELOAD": str(built(source))}


class Fault(Enum):
    """What happens at a call: its name, what the library does, and the error if it is one."""

    COUNT = ("count", 0, 0)
    KILL = ("kill", 1, 0)
    TEAR = ("tear", 2, 0)
    FULL_ONCE = ("full-once", 3, errno.ENOSPC)
    FULL = ("full", 4, errno.ENOSPC)
    BROKEN = ("broken", 3, errno.EIO)
    READ_ONLY = ("read-only", 4, errno.EROFS)
    # The power fails: files lose their unsynced content, and their names too or not.
    POWER = ("power", 5, 0)
    POWER_NAMES = ("power-names", 5, 0)
    # After the call, before whatever the process changes next.
    KILL_AFTER = ("kill-after", 6, 0)
    # The process stops before the call, and does it when it is continued.
    STOP = ("stop", 7, 0)
    # The clock goes back at the call; the number is that of seconds.
    CLOCK = ("clock", 8, 3600)

    @property
    def title(self) -> str:
        return self.value[0]


@dataclass
class Counted:
    """What the library saw: how many calls, and whether the one that was aimed at came."""

    calls: int = 0
    hit: bool = False


@contextmanager
def armed(folder: Path, call: int, fault: Fault, report: int = -1) -> Iterator[Counted]:
    """Let the n-th call that changes something below a folder go wrong.

    This process must have been started with the library of `FAULTS` preloaded.

    Args:
        folder: Absolute.
        call: The number of the call, from 1.
        fault: What happens there.
        report: A file descriptor that gets the name and the path of the call.
    """
    library = ctypes.CDLL(os.environ["LD_PRELOAD"])
    counted = Counted()
    _, which, number = fault.value
    library.faults_arm(os.fsencode(folder), call, which, number, report)
    try:
        yield counted
    finally:
        counted.calls = library.faults_disarm()
        counted.hit = bool(library.faults_hit())
