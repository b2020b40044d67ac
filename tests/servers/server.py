"""A server as a child process: up when it answers, started again at will, ended for sure."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

DEADLINE = 600.0
PATIENCE = 20.0
POLL = 0.05

# Waits for the end of whoever holds the other end of its standard input, which no signal and no
# crash can prevent; then ends the server, and removes its folder where it is temporary.
_WATCH = """\
read -r _
kill -s "$1" -- "-$2"
for tenth in $(seq 30); do kill -s 0 -- "-$2" || break; sleep 0.1; done
kill -s KILL -- "-$2"
[ -z "$3" ] || rm -rf -- "$3"
"""


class ServerFailed(Exception):
    """A server did not come up; its text is the end of the server's log."""


class Server(ABC):
    """A server of our own; in a `with` statement it is up.

    Args:
        command: The program and its arguments; no password among them.
        home: Its folder, with its log and its data.
        environ: Its whole environment.
        user: Whom it runs as; None: as ourselves.
        farewell: The signal that ends it in good order.
        temporary: Whether its folder goes with it.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        home: Path,
        *,
        environ: Mapping[str, str] = os.environ,
        user: pwd.struct_passwd | None = None,
        farewell: signal.Signals = signal.SIGTERM,
        temporary: bool = True,
    ) -> None:
        self.home = home
        self._command = [str(part) for part in command]
        self._environ = dict(environ)
        self._user = user
        self._farewell = farewell
        self._temporary = temporary
        self._process: subprocess.Popen[bytes] | None = None
        self._watch: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def answers(self) -> bool:
        """Whether it serves."""

    @property
    def pid(self) -> int | None:
        """The pid of its first process; None while it is down."""
        return self._process.pid if self._process else None

    @property
    def log(self) -> Path:
        """What it says."""
        return self.home / "server.log"

    def start(self) -> None:
        """Start it, with all that it held before, and return as soon as it answers.

        Raises:
            ServerFailed: It ended by itself, or did not answer in time.
        """
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start it, and do not wait."""
        assert self._process is None, "it is up already"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self.home,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **rights_of(self._user),
            )
        goes = str(self.home) if self._temporary else ""
        self._watch = subprocess.Popen(
            ["sh", "-c", _WATCH, "watch", self._farewell.name[3:], str(self.pid), goes],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def wait(self) -> None:
        """Return as soon as it answers.

        Raises:
            ServerFailed: As for `start`.
        """
        assert self._process is not None, "it is not launched"
        asked = time.monotonic()
        give_up = asked + DEADLINE
        while not self.answers():
            now = time.monotonic()
            if self._process.poll() is not None or now > give_up:
                self.kill()
                raise ServerFailed(self.log.read_text(errors="replace")[-4000:])
            # A health check may start a Python of its own, and take the cores from the server.
            time.sleep(max(POLL, now - asked))
            asked = time.monotonic()

    def stop(self) -> None:
        """End it in good order; what it holds stays. Nothing happens where it is down."""
        self._end(self._farewell)

    def kill(self) -> None:
        """End it as a crash would; what it has promised to keep stays."""
        self._end(signal.SIGKILL)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._temporary:
            shutil.rmtree(self.home)

    def _end(self, farewell: signal.Signals) -> None:
        if self._process is None or self._watch is None:
            return
        process, self._process = self._process, None
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(farewell)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        # What it started and did not take with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        self._watch.kill()
        self._watch.communicate()


def rights_of(user: pwd.struct_passwd | None) -> dict[str, Any]:
    """What makes `subprocess` run something as a user; None: as ourselves."""
    if user is None:
        return {}
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
