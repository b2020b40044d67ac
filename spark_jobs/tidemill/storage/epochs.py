"""The epochs of a lease, which never go back.

A lease folder that was lost, or restored from an older backup, gives out epochs again that somebody
has written under. Each of them gets a file of its own, created exclusively as ever: there is no gap
then, and a writer that wakes among them finds its successor as it always does.
"""

import errno
import os
from pathlib import Path

from tidemill.contract.clock import wall_clock
from tidemill.contract.errors import LeaseLost
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.storage import documents
from tidemill.storage.lease import TIME_LIMIT_SECONDS, Holder, acquire, release
from tidemill.storage.processes import launcher, this_process

PATIENCE_SECONDS = 5.0
STEP = "lease repair"


def use_up(folder: Path, upto: int, run_id: str) -> int:
    """Let the next epoch be later than one that was given out before.

    Args:
        upto: The last epoch that must not be given out again.
        run_id: For which run, as holders say it.

    Returns:
        The newest epoch now, which is over.

    Raises:
        LeaseHeld: a live process holds the lease.
        LeaseLost: another process took an epoch meanwhile.
    """
    epoch = acquire(
        folder,
        step=STEP,
        run_id=run_id,
        patience=PATIENCE_SECONDS,
        time_limit=TIME_LIMIT_SECONDS,
    )
    try:
        if epoch < upto:
            _fill(folder, epoch + 1, _holder(upto, run_id))
            epoch = upto
    finally:
        release(folder, epoch)
    return epoch


def _holder(epoch: int, run_id: str) -> Holder:
    return Holder(
        epoch=epoch,
        step=STEP,
        run_id=run_id,
        process=this_process(),
        launcher=launcher(),
        since=wall_clock(),
    )


def _fill(folder: Path, first: int, last: Holder) -> None:
    """Put one document under all numbers up to its own: of the newest alone anybody reads it."""
    source: Path | None = None
    for number in range(first, last.epoch + 1):
        path = folder / f"{number:06d}.json"
        if source is None or not _linked(source, path):
            if documents.put_if_absent(path, last) != last:
                raise LeaseLost(
                    f"Epoch {number} of the lease was taken by another process.",
                    remedy="It writes now; repair the lease again when it has ended.",
                    epoch=number - 1,
                    newer=number,
                )
            source = path


def _linked(source: Path, path: Path) -> bool:
    """Give a document another name; False where that is taken, or it has as many as it may have."""
    if isinstance(path, ObjectPath):
        return path.create(source.read_bytes())
    try:
        os.link(source, path)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.EMLINK):
            return False
        raise
    return True
