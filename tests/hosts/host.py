"""Another host: processes with a host name, process ids and a boot of their own.

Where Linux lets us have namespaces they are real (`unshare`; with a user namespace that needs no
privilege, and runs where `unshare --user` does, which containers often forbid). Elsewhere the
process plays the other host by its answers to who and where it is, and a warning says so.
"""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import psutil

from tests.support.histories.history_builder import History
from tests.support.processes import DEADLINE, kill_group, wait_for
from tidemill.contract.project import REPOSITORY

SEPARATE = ("--uts", "--pid", "--fork", "--mount-proc", "--kill-child")
BOOT_ID = "/proc/sys/kernel/random/boot_id"
OTHER_NAME = "another-host"


class NoNamespaces(UserWarning):
    """The other host is only played: nothing here lets a process have namespaces of its own."""


@dataclass(frozen=True)
class Writer:
    """A process on the other host.

    Args:
        process: It, or what started it there; the leader of their process group.
    """

    process: subprocess.Popen[str]

    def wait_for_line(self, beginning: str) -> str:
        """The next line that begins so; the others are passed over."""
        assert self.process.stdout is not None
        said = []
        # A writer that says nothing any more ends, and with it what is read here.
        deadline = threading.Timer(DEADLINE, os.killpg, (self.process.pid, signal.SIGKILL))
        deadline.start()
        try:
            for line in self.process.stdout:
                if line.startswith(beginning):
                    return line.removeprefix(beginning).strip()
                said.append(line)
        finally:
            deadline.cancel()
        raise AssertionError(f"it ended and never said {beginning!r}: {''.join(said)}")

    def pause(self) -> None:
        """Let it come to the point where it stops, and take the processor away from it."""
        self.wait_for_line("stopped")
        self._signal(signal.SIGSTOP)
        wait_for(lambda: all(one.status() == psutil.STATUS_STOPPED for one in self._members()))

    def go_on(self) -> str:
        """Let it go on; how it ended: its report's error, `done`, or `left`."""
        assert self.process.stdin is not None
        self.process.stdin.write("go on\n")
        self.process.stdin.flush()
        self._signal(signal.SIGCONT)
        ended = self.wait_for_line("ended")
        self.process.wait()
        return ended

    def wake(self) -> int:
        """Give it the processor back, and leave it where it stopped; its exit code when it ends."""
        self._signal(signal.SIGCONT)
        return self.process.wait()

    def _signal(self, number: signal.Signals) -> None:
        for one in self._members():
            one.send_signal(number)

    def _members(self) -> list[psutil.Process]:
        starter = psutil.Process(self.process.pid)
        return [*starter.children(recursive=True), starter]


@contextmanager
def writer_elsewhere(
    history: History, action: str, *arguments: str, stop: str = "", twin: bool = False
) -> Iterator[Writer]:
    """Start a writer on the other host; it is killed at the end.

    Args:
        history: What it writes to.
        action: As `tests.hosts.writer` has it.
        *arguments: The action's arguments.
        stop: Where it stops, as `tests.hosts.writer` has it; nowhere where empty.
        twin: Whether the other host has our host name, and only another boot.
    """
    name = socket.gethostname() if twin else OTHER_NAME
    command = _namespaces()
    played = "" if command else "played"
    home, bucket = history.home, history.bucket or ""
    where = [str(home), bucket, stop, action]
    program = [sys.executable, "-m", "tests.hosts.writer", name, played, *where]
    if command and twin:
        boot = home / "boot_id"
        boot.write_text("another-boot\n")
        mount = shlex.join(["mount", "--bind", str(boot), BOOT_ID])
        command = [*command, "sh", "-c", f'{mount} && exec "$@"', "sh"]
    process = subprocess.Popen(
        [*command, *program, *arguments],
        cwd=REPOSITORY,
        start_new_session=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield Writer(process)
    finally:
        kill_group(process)
        assert process.stdin is not None
        process.stdin.close()


def _namespaces() -> Sequence[str]:
    """The command that gives a process namespaces of its own; empty where there is none."""
    found = _find_namespaces()
    if not found:
        warnings.warn("no namespaces: the other host is only played", NoNamespaces, stacklevel=3)
    return found


@cache
def _find_namespaces() -> Sequence[str]:
    for command in (
        ["unshare", "--user", "--map-root-user", *SEPARATE],
        ["unshare", *SEPARATE],
    ):
        try:
            tried = subprocess.run([*command, "true"], capture_output=True, check=False)
        except FileNotFoundError:
            break
        if tried.returncode == 0:
            return command
    return ()
