"""The identity of a process, so that a reused pid is never mistaken for it."""

import os
import signal
import socket
import time
from functools import cache
from pathlib import Path

import psutil
from pydantic import ValidationError

from tidemill.contract.document import FrozenModel

LAUNCHER_VARIABLE = "TIDEMILL_LAUNCHER"
POLL_SECONDS = 0.05
# Where Linux keeps what tells machines apart; the second is for root only.
MACHINE_ID, PRODUCT_UUID = Path("/etc/machine-id"), Path("/sys/class/dmi/id/product_uuid")
# The inode of the pid namespace of a machine itself, which no container has.
MACHINE_NAMESPACE = 0xEFFFFFFC
# macOS counts the time of its boot again whenever the clock is set.
BOOT_DRIFT_SECONDS = 300.0


class ProcessId(FrozenModel):
    """A process on a host, told apart from later ones with the same pid by its start time.

    Attributes:
        host: Its name, which another machine may have too.
        machine: What tells its machine from every other, None where nothing does (or where an
            older version wrote this down).
        boot: The id of the host's boot.
        namespace: In which pids are counted: containers on one host each have their own.
        pid: Within the namespace.
        started: Seconds since the boot where the system tells, else since the epoch. A date would
            move when the host's clock is set, and a living process would look like another.
    """

    host: str
    machine: str | None = None
    boot: str
    namespace: int
    pid: int
    started: float

    @property
    def here(self) -> bool:
        """Whether its life can be looked up from here.

        Containers of one machine have its boot id, and pids of their own: there the namespace
        tells.
        """
        return (
            (self.host, self.namespace) == (socket.gethostname(), _namespace())
            and _same_boot(self.boot, _boot())
            and self.machine in (None, _machine())
        )

    @property
    def gone(self) -> bool:
        """Whether it is provably dead: not among the processes here, or of an earlier boot.

        An earlier boot is one of the same machine. A host name alone proves nothing: clones of a
        virtual machine share it, and a pod keeps it when it is moved to another node.
        """
        if self._of_this_machine and not _same_boot(self.boot, _boot()):
            return True
        return self.here and self._process() is None

    @property
    def _of_this_machine(self) -> bool:
        identity = (socket.gethostname(), _machine())
        return self.machine is not None and (self.host, self.machine) == identity

    def end(self, patience: float = 10.0) -> None:
        """Stop it, its children and the JVM that started it; SIGTERM, then SIGKILL.

        Args:
            patience: Seconds to wait after each of the two.
        """
        process = self._process() if self.here else None
        if process is None:
            return
        family = _family(process)
        for number in (signal.SIGTERM, signal.SIGKILL):
            for member in family:
                _send(member, number)
            if _all_end(family, patience):
                return
            # What a dying driver still started.
            family |= _family(process)

    def _process(self) -> psutil.Process | None:
        try:
            process = psutil.Process(self.pid)
            same = abs(_started(process) - self.started) < 0.01
        except psutil.NoSuchProcess:
            return None
        return process if same and _alive(process) else None


def this_process(pid: int | None = None) -> ProcessId:
    """The identity of a process on this host; our own where no pid is given."""
    process = psutil.Process(pid or os.getpid())
    return ProcessId(
        host=socket.gethostname(),
        machine=_machine(),
        boot=_boot(),
        namespace=_namespace(),
        pid=process.pid,
        started=_started(process),
    )


def launcher() -> ProcessId | None:
    """The task that started this step, as it says in `TIDEMILL_LAUNCHER` (a `ProcessId` as JSON).

    None where it is unknown: then this step outlives its launcher.
    """
    try:
        return ProcessId.model_validate_json(os.environ.get(LAUNCHER_VARIABLE, ""))
    except ValidationError:
        return None


def _family(process: psutil.Process) -> set[psutil.Process]:
    """A process, all below it, and the spark-submit JVM above it, which would outlive it."""
    family = {process}
    try:
        family.update(process.children(recursive=True))
        for parent in process.parents():
            if any("org.apache.spark.deploy.SparkSubmit" in word for word in parent.cmdline()):
                family.add(parent)
    except psutil.Error:
        # One of them ended, or is not ours to look at.
        return family
    return family


def _send(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.Error:
        # It has ended, or belongs to another user; whoever waits for it will see which.
        return


def _all_end(family: set[psutil.Process], patience: float) -> bool:
    # Not `psutil.wait_procs`: it takes an unreaped dead process for a living one.
    give_up = time.monotonic() + patience
    while any(_alive(process) for process in family):
        if time.monotonic() > give_up:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _started(process: psutil.Process) -> float:
    try:
        status = Path(f"/proc/{process.pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError) as error:
        if Path("/proc/self/stat").exists():
            raise psutil.NoSuchProcess(process.pid) from error
        return process.create_time()
    # The second field, the command in brackets, may hold anything.
    ticks = int(status.rpartition(")")[2].split()[19])
    return ticks / os.sysconf("SC_CLK_TCK")


@cache
def _machine() -> str | None:
    """The identity of this machine, None if it has none.

    A container's `/etc/machine-id` is that of its image, which containers on other machines may
    have too; in there only the hardware's own number counts.
    """
    path = MACHINE_ID if _namespace() == MACHINE_NAMESPACE else PRODUCT_UUID
    try:
        identity = path.read_text().strip()
    except OSError:
        return None
    # What stands in an image whose first boot is still to come.
    return None if identity in ("", "uninitialized") else identity


def _same_boot(one: str, other: str) -> bool:
    """Whether two boots are one: Linux has an id, macOS a time, which drifts."""
    try:
        return abs(float(one) - float(other)) < BOOT_DRIFT_SECONDS
    except ValueError:
        return one == other


@cache
def _boot() -> str:
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text().strip() if path.exists() else str(psutil.boot_time())


@cache
def _namespace() -> int:
    path = Path("/proc/self/ns/pid")
    return path.stat().st_ino if path.exists() else 0
