"""The heartbeat of a lease: proof that its holder lives, and that it still holds the lease.

A beat costs three system calls, however many epochs there were: the time of `<epoch>.beat` is set,
`<epoch + 1>.json`, which only a successor writes, is looked for, and so is `<epoch>.json`.
"""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from tidemill.contract.errors import LeaseLost
from tidemill.contract.objects.errors import ObjectStoreUnreachable
from tidemill.storage import documents

BEAT_SECONDS = 2.0
# Several beats must fit into the time after which others take a silent holder for dead.
BEATS_WITHIN_LIMIT = 10

log = logging.getLogger(__name__)


class Heartbeat:
    """Beats in a thread of its own while its `with` block runs.

    A beat that fails is tried again: the share may be back in a second. A holder that had no beat
    for half the time limit gives up first, so that it has left when others find it dead.

    Args:
        epoch: The one that this process holds.
        time_limit: Seconds without a beat after which others take it for dead.
        on_loss: Called in the beating thread, once, when the lease is lost.
    """

    def __init__(
        self, folder: Path, epoch: int, time_limit: float, on_loss: Callable[[LeaseLost], None]
    ) -> None:
        self.folder = folder
        self.epoch = epoch
        self.failed = 0
        self._beat_file = folder / f"{epoch:06d}.beat"
        self._most_silence = time_limit / 2
        self._pause = min(BEAT_SECONDS, time_limit / BEATS_WITHIN_LIMIT)
        self._on_loss = on_loss
        self._last_beat = time.monotonic()
        self._gave_up = False
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def check(self) -> None:
        """Stop a holder that could not beat; no system call but for the time.

        Raises:
            LeaseLost: nothing was heard of this process for half the time limit.
        """
        silent = time.monotonic() - self._last_beat
        if self._gave_up or silent > self._most_silence:
            self._gave_up = True
            raise LeaseLost(
                f"Epoch {self.epoch} of the lease had no heartbeat for more than "
                f"{self._most_silence:g} seconds ({self.failed} beats failed), so that another "
                "process may hold it.",
                remedy=f"Find out why {self.folder} could not be written to, or who paused this "
                "process; the next try starts over.",
                epoch=self.epoch,
                newer=None,
                failed=self.failed,
            )

    def _run(self) -> None:
        while not self._done.wait(self._pause):
            try:
                self._beat()
            except LeaseLost as lost:
                self._on_loss(lost)
                return

    def _beat(self) -> None:
        # Before it may beat again, a process that was paused must know that it was.
        self.check()
        before = time.monotonic()
        try:
            self._beat_file.touch()
            check_epoch(self.folder, self.epoch)
        except (OSError, ObjectStoreUnreachable) as error:
            self.failed += 1
            log.warning(
                "heartbeat of epoch %d failed (%s), %d so far", self.epoch, error, self.failed
            )
        else:
            self._last_beat = before


def check_epoch(folder: Path, epoch: int) -> None:
    """Stop a writer that was fenced out; two system calls.

    Upkeep removes old epochs, the oldest first: a writer that finds neither its successor nor its
    own epoch is so old that both were removed.

    Args:
        epoch: The one that the writer holds.

    Raises:
        LeaseLost: somebody took a newer epoch.
    """
    if not documents.exists(folder, epoch + 1) and documents.exists(folder, epoch):
        return
    newer = documents.newest(folder, known=epoch + 1) or 0
    if newer <= epoch:
        # The whole folder is away, and may be back in a moment.
        return
    raise LeaseLost(
        f"Epoch {epoch} of the lease was taken over by epoch {newer}.",
        remedy="Nothing to do: the newer run carries on.",
        epoch=epoch,
        newer=newer,
    )
