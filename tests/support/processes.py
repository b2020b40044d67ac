"""Real child processes for tests: started with a piece of code, never left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tidemill.contract.project import REPOSITORY

DEADLINE = 300.0
# Seconds between two looks, first and at most: a look may cost what is waited for its time.
PAUSE, LONGEST_PAUSE = 0.01, 0.25


def wait_for(condition: Callable[[], object], deadline: float = DEADLINE) -> None:
    """Go on as soon as a condition holds; a test that waits in vain fails.

    Args:
        condition: Asked again and again.
        deadline: Seconds, where what is waited for may take long on a busy machine.
    """
    give_up, pause = time.monotonic() + deadline, PAUSE
    while not condition():
        assert time.monotonic() < give_up, "waited in vain"
        time.sleep(pause)
        pause = min(1.5 * pause, LONGEST_PAUSE)


@contextmanager
def child(
    code: str, *arguments: str | Path, environ: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A Python process of its own group that runs some code; killed with its group at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=REPOSITORY,
        env={**os.environ, **(environ or {})},
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        kill_group(process)


@contextmanager
def waiting_child(
    code: str, reached: Path, *arguments: str, environ: Mapping[str, str]
) -> Iterator[subprocess.Popen[str]]:
    """A child that has come to the point where it makes a file and waits; killed at the end.

    Args:
        code: Gets the file's path as its first argument.
        reached: The file.
    """
    with child(code, reached, *arguments, environ=environ) as process:
        wait_for(lambda: reached.exists() or process.poll() is not None)
        assert reached.exists(), process.stdout and process.stdout.read()
        yield process


def kill_group(process: subprocess.Popen[str]) -> None:
    """SIGKILL for a child and everything in its process group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
