"""The lease: one writer per pipeline, and an epoch that fences a writer that lost it.

Epoch n is the file `<n>.json`, created exclusively; `<n>.released` closes it, `<n>.beat` is touched
by its holder. A holder is dead when its process is provably gone, or when its beat has not changed
for the time limit on the *observer's* own clock. A pause defeats any check made before a write, so
writes are fenced where they happen: every Delta commit carries the epoch and refuses an older one.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tidemill.contract.clock import Clock, wall_clock
from tidemill.contract.document import Document
from tidemill.contract.errors import ExitCode, LeaseHeld, LeaseLost
from tidemill.contract.layout import PIPELINE_NAME, Layout
from tidemill.contract.objects.errors import ObjectStoreUnreachable
from tidemill.storage import documents
from tidemill.storage.epoch_hint import leave_hint, read_hint
from tidemill.storage.heartbeat import Heartbeat, check_epoch
from tidemill.storage.processes import ProcessId, launcher, this_process
from tidemill.storage.root_identity import refuse_renamed
from tidemill.storage.unfinished_rewrite import refuse_unfinished_rewrite

TIME_LIMIT_SECONDS = 60.0
POLL_SECONDS = 0.2
PATIENCE_SECONDS = 30.0
END_PATIENCE_SECONDS = 10.0
# The step that ends only when somebody stops it.
STREAM = "stream"


class Holder(Document):
    """Who holds an epoch: the process that writes, and the task that started it."""

    epoch: int
    step: str
    run_id: str
    process: ProcessId
    launcher: ProcessId | None
    since: datetime


class Released(Document):
    """The end of an epoch.

    Attributes:
        failed_beats: How many heartbeats failed while it was held.
    """

    at: datetime
    failed_beats: int = 0


@dataclass(frozen=True)
class Lease:
    """An epoch that this process holds."""

    folder: Path
    epoch: int
    heartbeat: Heartbeat | None = field(default=None, compare=False, repr=False)

    def check(self) -> None:
        """Stop a writer that was fenced out; two system calls.

        Raises:
            LeaseLost: somebody took a newer epoch, or may have: this process could not beat.
        """
        if self.heartbeat is not None:
            self.heartbeat.check()
        check_epoch(self.folder, self.epoch)


def leave(lost: LeaseLost) -> None:
    """End this process at once: whatever it still did would be lost, or somebody else's."""
    sys.stderr.write(f"tidemill: {lost.code}: {lost}\n")
    sys.stderr.flush()
    os._exit(int(ExitCode.FAILED))


def _stay(_: LeaseLost) -> None:
    """Go on to the next `Lease.check()`, which raises."""


_on_loss: Callable[[LeaseLost], None] = _stay


def leave_on_loss() -> None:
    """Let this process leave when a step learns that its lease is lost.

    For processes that do nothing else than steps; anybody who calls a step in a process of their
    own stays, and the step ends where it checks its lease next.
    """
    global _on_loss
    _on_loss = leave


def newest_epoch(folder: Path, known: int | None = None) -> int:
    """The number of the newest epoch, 0 where there was none.

    Args:
        known: An epoch that was there before; by default the one that was remembered last. Nothing
            is listed where it is there still.
    """
    return documents.newest(folder, read_hint(folder) if known is None else known) or 0


def settled_epoch(folder: Path) -> int:
    """The newest epoch that is over, or whose holder is dead; 0 where there was none."""
    epoch, holder = _look(folder)
    return epoch if holder is None or holder.process.gone else epoch - 1


def current_holder(folder: Path) -> Holder | None:
    """Who holds the lease now, dead or alive; None where it is free."""
    return _look(folder)[1]


def end_outlived(folder: Path) -> Holder | None:
    """End a driver that outlived its task; who it was, or None where there was none.

    SIGKILL of a task runner leaves its spark-submit running, and the retry comes at once.
    """
    holder = current_holder(folder)
    if holder is None or holder.process.gone or not _outlived(holder):
        return None
    holder.process.end(END_PATIENCE_SECONDS)
    return holder


def _look(folder: Path, known: int | None = None) -> tuple[int, Holder | None]:
    """The newest epoch and who holds it: whoever takes over takes the epoch after *this* one."""
    epoch = newest_epoch(folder, known)
    if epoch == 0 or (folder / f"{epoch:06d}.released").exists():
        return epoch, None
    return epoch, documents.read(folder / f"{epoch:06d}.json", Holder)


@contextmanager
def hold(
    folder: Path,
    *,
    step: str,
    run_id: str,
    patience: float = PATIENCE_SECONDS,
    time_limit: float = TIME_LIMIT_SECONDS,
    on_loss: Callable[[LeaseLost], None] | None = None,
    clock: Clock = wall_clock,
) -> Iterator[Lease]:
    """Hold the lease while a step writes.

    A live holder whose launcher is gone is a driver that outlived its task: it is ended. A live
    holder with a live launcher is waited for.

    Args:
        patience: Seconds to wait for a live holder on this host; one elsewhere is watched for at
            least `time_limit`.
        time_limit: Seconds without a beat after which a holder on another host is dead. A holder
            gives up after half of it.
        on_loss: Called from the beating thread when the lease is lost. Where not given, the process
            leaves if `leave_on_loss` was called.

    Raises:
        LeaseHeld: a live holder did not end in time; transient.
        RelocationUnfinished: only `tidemill relocate` may write.
        ErasureUnfinished: only `tidemill erase` may write.
        PipelineRenamed: the pipeline goes on under another name.
    """
    epoch = acquire(
        folder, step=step, run_id=run_id, patience=patience, time_limit=time_limit, clock=clock
    )
    heartbeat = Heartbeat(folder, epoch, time_limit, on_loss or _on_loss)
    try:
        refuse_unfinished_rewrite(folder.parent, step)
        if epoch == 1 and PIPELINE_NAME.fullmatch(folder.parent.name):
            # A folder that is new, as after a rename between two steps of a run.
            refuse_renamed(Layout(folder.parent.parent, folder.parent.name))
        with heartbeat:
            yield Lease(folder, epoch, heartbeat)
    except BaseException:
        # What went wrong is to be told, also where the disk that it was about takes no document.
        with suppress(OSError, ObjectStoreUnreachable):
            release(folder, epoch, heartbeat.failed, clock)
        raise
    release(folder, epoch, heartbeat.failed, clock)


def release(folder: Path, epoch: int, failed_beats: int = 0, clock: Clock = wall_clock) -> None:
    """Close an epoch, so that no other run waits for it; nothing where the lease is gone."""
    if documents.exists(folder, epoch):
        end = Released(at=clock(), failed_beats=failed_beats)
        documents.put_if_absent(folder / f"{epoch:06d}.released", end)


def acquire(
    folder: Path,
    *,
    step: str,
    run_id: str,
    patience: float,
    time_limit: float,
    clock: Clock = wall_clock,
) -> int:
    """Take the next epoch, as `hold` does, without a heartbeat."""
    watch = _Watch(folder, time_limit)
    ended: set[int] = set()
    epoch: int | None = None
    while True:
        epoch, holder = _look(folder, epoch)
        if holder is None or watch.dead(holder):
            mine = Holder(
                epoch=epoch + 1,
                step=step,
                run_id=run_id,
                process=this_process(),
                launcher=launcher(),
                since=clock(),
            )
            path = folder / f"{mine.epoch:06d}.json"
            if documents.put_if_absent(path, mine) == mine:
                if _follows(folder, mine.epoch):
                    leave_hint(folder, mine.epoch)
                    return mine.epoch
                path.unlink(missing_ok=True)
                epoch = None
        elif _outlived(holder) and epoch not in ended:
            ended.add(epoch)
            holder.process.end(END_PATIENCE_SECONDS)
        elif time.monotonic() - watch.began > _patience(holder, patience, time_limit):
            raise LeaseHeld(
                f"{holder.step} of run {holder.run_id} (process {holder.process.pid} on "
                f"{holder.process.host}) is writing to this pipeline.",
                remedy=f"It goes on until `tidemill stream {folder.parent.name} --stop`."
                if holder.step == STREAM
                else "Run the same again when it has ended; a retry of Airflow does so by itself.",
                holder=holder.model_dump(mode="json"),
                epoch=holder.epoch,
            )
        else:
            time.sleep(POLL_SECONDS)


def _follows(folder: Path, epoch: int) -> bool:
    """Whether an epoch that was just taken is the one after the newest.

    A process that was paused before it took it may have slept until upkeep had removed the epoch
    that was taken instead. The one before it was removed first.
    """
    if epoch > 1:
        return documents.exists(folder, epoch - 1)
    return max(documents.numbers(folder), default=epoch) == epoch


def _outlived(holder: Holder) -> bool:
    return holder.process.here and holder.launcher is not None and holder.launcher.gone


def _patience(holder: Holder, patience: float, time_limit: float) -> float:
    """Seconds to wait for a holder; one elsewhere must be watched long enough to be found dead."""
    return patience if holder.process.here else max(patience, time_limit + 2 * POLL_SECONDS)


class _Watch:
    """Tells a dead holder from a silent one by this observer's monotonic clock only.

    Attributes:
        began: When the wait began; for a holder elsewhere once its beat was known, so that a store
            that answers slowly does not end the wait before the holder is found dead.
    """

    def __init__(self, folder: Path, time_limit: float) -> None:
        self.began = time.monotonic()
        self.folder = folder
        self.time_limit = time_limit
        self.seen: tuple[int, int] | None = None
        self.since = 0.0

    def dead(self, holder: Holder) -> bool:
        if holder.process.gone:
            return True
        if holder.process.here:
            return False
        now = (holder.epoch, _beat_of(self.folder, holder.epoch))
        if now != self.seen:
            self.since = time.monotonic()
            if self.seen is None:
                self.began = self.since
            self.seen = now
        return time.monotonic() - self.since > self.time_limit


def _beat_of(folder: Path, epoch: int) -> int:
    try:
        return (folder / f"{epoch:06d}.beat").stat().st_mtime_ns
    except FileNotFoundError:
        return 0
