"""Wall time, CPU-seconds and memory of whole commands, children included.

They are measured by a small process of its own, `python -m tests.bench.measure`: a process counts
the memory of the one that started it as its own.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

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

    Raises:
        RuntimeError: one of them failed, with the end of what it printed.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.measure"],
        input=json.dumps([[[str(word) for word in one] for one in commands], dict(environ)]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    cost, failure = json.loads(done.stdout)
    if failure is not None:
        raise RuntimeError(failure)
    return Cost(**cost)


def _run(commands: Sequence[Command], environ: Mapping[str, str]) -> Cost:
    """As `cost_of`, in this process.

    A JVM that Python started is not waited for by it, so that it comes to us when Python has gone.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    before, start, memory = _children(), time.perf_counter(), 0.0
    for command in commands:
        process = subprocess.Popen(
            command,
            env=environ,
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


def main() -> None:
    """Read commands and their environment as JSON; write their cost, or what failed."""
    try:
        answer = asdict(_run(*json.load(sys.stdin))), None
    except RuntimeError as error:
        answer = None, str(error)
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
