"""Wall time and CPU-seconds of whole commands, children included."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Command = Sequence[str]


@dataclass(frozen=True)
class Cost:
    """What some commands cost together.

    Args:
        wall: Seconds.
        cpu: User and system seconds of the commands and all their children.
    """

    wall: float
    cpu: float

    def __truediv__(self, other: Cost) -> Cost:
        return Cost(self.wall / other.wall, self.cpu / other.cpu)


def cost_of(commands: Sequence[Command], environ: Mapping[str, str]) -> Cost:
    """Run commands one after the other.

    Raises:
        RuntimeError: one of them failed, with the end of what it printed.
    """
    before, start = _children(), time.perf_counter()
    for command in commands:
        done = subprocess.run(
            command, env=dict(environ), check=False, text=True, capture_output=True
        )
        if done.returncode:
            msg = f"{' '.join(command)} ended with {done.returncode}\n{done.stderr[-3000:]}"
            raise RuntimeError(msg)
    return Cost(time.perf_counter() - start, _children() - before)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
