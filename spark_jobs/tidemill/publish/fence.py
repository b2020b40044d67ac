"""A fence: the newest epoch that a table or list has seen of its writers.

A writer of an older epoch is refused there. A lease folder that was lost, or restored from an older
backup, gives out old epochs again: then every writer is refused, though there is no newer one.
"""

from tidemill.contract.document import FrozenModel
from tidemill.contract.errors import LeaseLost
from tidemill.contract.layout import Layout
from tidemill.storage.lease import newest_epoch


class Fence(FrozenModel):
    """The fences, which refuse writers of older epochs.

    Attributes:
        where: A folder or a target's name.
        epoch: The newest that has written there.
    """

    where: str
    epoch: int


def fenced_out(layout: Layout, where: str, epoch: int, fence: int) -> LeaseLost:
    """The error of a writer that is refused.

    Args:
        where: What it was to write to.
        epoch: The one that it holds.
        fence: The newest that has written there.
    """
    remedy = "Nothing to do: the newer run carries on."
    if is_behind(layout, fence):
        remedy = (
            f"There is no newer run: {layout.lease} was lost or set back. "
            f"tidemill lease repair {layout.name}"
        )
    return LeaseLost(
        f"{where} was written under epoch {fence}, and this process holds {epoch}.",
        remedy=remedy,
        epoch=epoch,
        newer=fence,
    )


def is_behind(layout: Layout, fence: int) -> bool:
    """Whether the lease has not come to an epoch yet (again).

    The epoch's own file is asked for first: NFS may list a folder as it was a minute ago.
    """
    return newest_epoch(layout.lease, known=fence) < fence
