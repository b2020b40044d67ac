"""Killing a process group by what it has written."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

LOGS = (
    "checkpoints/live-*/offsets/[0-9]*",
    "checkpoints/live-*/commits/[0-9]*",
    "table/_live-*/_spark_metadata/[0-9]*",
    "table/_live-*/batch=*/*",
    "ledger/live-*/*",
    "increments/*/*",
    "journal/*",
    "generations/*",
    "rejected/_delta_log/*",
    "table/_delta_log/*",
)


def entries(home: Path) -> int:
    """How many entries the logs of a pipeline hold."""
    return sum(1 for pattern in LOGS for _ in home.glob(pattern))


def kill_when(process: subprocess.Popen[bytes], reached: Callable[[], bool]) -> bool:
    """Kill a process group once a condition holds; False where it ended before."""
    while process.poll() is None:
        if reached():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
        time.sleep(0.002)
    return False
