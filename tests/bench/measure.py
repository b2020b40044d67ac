"""Wall time, CPU-seconds and memory of whole commands, children included."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

Command = Sequence[str]
# From <linux/prctl.h>: orphans among our descendants become our children.
PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Cost:
    """What some commands cost together.

    Args:
        wall: Seconds.
        cpu: User and system seconds of the commands and all their children.
        memory: MB that the largest of these processes had in memory at once.
    """

    wall: float
    cpu: float
    memory: float

    def __truediv__(self, other: Cost) -> Cost:
        return Cost(self.wall / other.wall, self.cpu / other.cpu, self.memory / other.memory)


def cost_of(commands: Sequence[Command], environ: Mapping[str, str]) -> Cost:
    """Run commands one after the other, to the end of all that they started.

    A JVM that Python started is not waited for by it, so that it comes to us when Python has gone.

    Raises:
        RuntimeError: one of them failed, with the end of what it printed.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    before, start, memory = _children(), time.perf_counter(), 0.0
    for command in commands:
        process = subprocess.Popen(
            command,
            env=dict(environ),
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stderr is not None
        with process.stderr as stream:
            said = stream.read()
        status, most = _wait_for_group(process.pid)
        memory = max(memory, most)
        # It was waited for here.
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            msg = f"{' '.join(command)} ended with {process.returncode}\n{said[-3000:]}"
            raise RuntimeError(msg)
    return Cost(time.perf_counter() - start, _children() - before, memory)


def _wait_for_group(leader: int) -> tuple[int, float]:
    """The status of the leader, and the MB of the largest process of the group."""
    found, most = 0, 0
    with suppress(ChildProcessError):
        while True:
            process, status, used = os.wait4(-leader, 0)
            found = status if process == leader else found
            most = max(most, used.ru_maxrss)
    return found, most / 1024


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
