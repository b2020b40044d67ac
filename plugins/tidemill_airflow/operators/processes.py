"""A step as a process of its own, which is killed with everything it started."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence

import psutil

from tidemill.contract.log import Log

# The supervisor of a task sends SIGKILL five seconds after SIGTERM: be done by then.
PATIENCE = 3.0
POLL = 0.05


class StepProcess:
    """A child process in its own session, whose output goes line by line to a log.

    Args:
        command: The program and its arguments; never a shell.
        environ: Its whole environment.
        log: Gets each line of its output, without the line's end.
    """

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], log: Log) -> None:
        self.command = tuple(command)
        self.environ = dict(environ)
        self.log = log
        self._process: subprocess.Popen[str] | None = None

    def run(self) -> int:
        """Start it, follow it to its end, and return its exit code (negative: the signal)."""
        with subprocess.Popen(
            self.command,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            encoding="utf-8",
            errors="replace",
        ) as process:
            self._process = process
            try:
                for line in process.stdout or ():
                    self.log(line.rstrip())
            except BaseException:
                # A timeout interrupts the reading; a step left running would hold the lease.
                self.kill()
                raise
        return process.returncode

    def kill(self) -> None:
        """End it and all that it started; nothing happens where it has ended."""
        if self._process is not None and self._process.returncode is None:
            end_session(self._process.pid)


def end_session(leader: int, patience: float = PATIENCE) -> None:
    """End every process of a session: SIGTERM, then SIGKILL for those that stay.

    A session and not a process group, because Spark's Python daemon makes a group of its own.

    Args:
        leader: The pid of the process that was started with `start_new_session`.
        patience: Seconds between the two signals.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        # The leader's group at once; then whoever has left it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, number)
        for member in _members(leader):
            _send(member, number)
        deadline = time.monotonic() + patience
        # Not `psutil.wait_procs`: that reaps the child, and Popen then reports exit code 0.
        while _members(leader):
            if time.monotonic() > deadline:
                break
            time.sleep(POLL)
        else:
            return


def _members(session: int) -> list[psutil.Process]:
    members = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                members.append(process)
        except (ProcessLookupError, PermissionError, psutil.Error):
            continue
    return members


def _send(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return
