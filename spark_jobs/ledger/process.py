"""Who a process is, so that a pid that was reused is never mistaken for it."""

from __future__ import annotations

import os
import signal
import socket
from functools import cache
from pathlib import Path

import psutil
from pydantic import BaseModel, ConfigDict

LAUNCHER_VARIABLE = "TIDEMILL_LAUNCHER"


class ProcessId(BaseModel):
    """A process on a host, told apart from later ones with the same pid by its start time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str
    boot: str
    pid: int
    started: float

    @property
    def here(self) -> bool:
        """Whether its life can be looked up from here: same host, same boot."""
        return (self.host, self.boot) == (socket.gethostname(), _boot())

    @property
    def gone(self) -> bool:
        """Whether it is provably dead."""
        if self.host == socket.gethostname() and self.boot != _boot():
            return True
        return self.here and self._process() is None

    def end(self, patience: float = 10.0) -> None:
        """Stop it, its children and the JVM that started it; SIGTERM, then SIGKILL.

        Args:
            patience: Seconds between the two signals.
        """
        process = self._process()
        if process is None:
            return
        family = {process, *process.children(recursive=True), *_submitters(process)}
        for signal_number in (signal.SIGTERM, signal.SIGKILL):
            for member in family:
                try:
                    member.send_signal(signal_number)
                except psutil.NoSuchProcess:
                    continue
            _, alive = psutil.wait_procs(family, timeout=patience)
            family = set(alive)
            if not family:
                return

    def _process(self) -> psutil.Process | None:
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < 0.01
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


def this_process(pid: int | None = None) -> ProcessId:
    """The identity of a process on this host; our own where no pid is given."""
    process = psutil.Process(pid or os.getpid())
    return ProcessId(
        host=socket.gethostname(), boot=_boot(), pid=process.pid, started=process.create_time()
    )


def launcher() -> ProcessId | None:
    """The task that started this step, as it said in `TIDEMILL_LAUNCHER` (`pid:start time`)."""
    given = os.environ.get(LAUNCHER_VARIABLE)
    if not given:
        return None
    pid, _, started = given.partition(":")
    return ProcessId(host=socket.gethostname(), boot=_boot(), pid=int(pid), started=float(started))


def _submitters(process: psutil.Process) -> list[psutil.Process]:
    """The spark-submit JVM above a Python driver: it outlives the driver if left alone."""
    found = []
    for parent in process.parents():
        command = parent.cmdline() if parent.is_running() else []
        if any("org.apache.spark.deploy.SparkSubmit" in word for word in command):
            found.append(parent)
    return found


@cache
def _boot() -> str:
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text().strip() if path.exists() else str(psutil.boot_time())
