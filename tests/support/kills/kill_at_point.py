"""Stopping a process group at an exact point of Spark's protocol, and killing it there.

The group is frozen the moment a condition on disk holds, the condition is looked at again while
nothing moves, and only then is it killed; if it has passed by, the group goes on to its next batch.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path


class NeverReached(AssertionError):
    """The process ended before the point was caught."""


def kill_at(process: subprocess.Popen[bytes], near: Path, reached: Callable[[], bool]) -> None:
    """Kill a process group while a condition holds.

    Args:
        process: The leader of its own process group.
        near: What appears shortly before; asked for with pauses, so that the group gets the cores.
        reached: Cheap to ask; asked all the time from then on.

    Raises:
        NeverReached: the process ended first.
    """
    while process.poll() is None and not near.exists():
        time.sleep(0.02)
    while process.poll() is None:
        if not reached():
            # Shorter than the point lasts, and long enough to leave the group a core.
            time.sleep(0.002)
            continue
        os.killpg(process.pid, signal.SIGSTOP)
        if reached():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return
        os.killpg(process.pid, signal.SIGCONT)
    raise NeverReached(process.args)
