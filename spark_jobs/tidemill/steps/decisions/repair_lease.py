"""Shows a lease, and repairs one that was lost or set back."""

from tidemill.contract.document import FrozenModel
from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.publish.fence import Fence, is_behind
from tidemill.publish.fences import all_fences, fences_on_disk
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.epochs import use_up
from tidemill.storage.lease import Holder, current_holder, newest_epoch


class LeaseSetBack(Refused):
    """The lease's newest epoch is older than one that has written; carries `epoch` and `fence`."""


class LeaseState(FrozenModel):
    """The state of a pipeline's lease.

    Attributes:
        epoch: The newest, 0 for none.
        holder: Who holds this epoch; None where it is over.
        alive: Whether the holder lives: None where that cannot be told from here, or there is none.
        fences: What refuses the writers of older epochs.
    """

    pipeline: str
    epoch: int
    holder: Holder | None
    alive: bool | None
    fences: tuple[Fence, ...]

    @property
    def set_back(self) -> Fence | None:
        """The highest fence, if the lease has not come to it (again)."""
        highest = max(self.fences, key=lambda fence: fence.epoch, default=None)
        return highest if highest is not None and highest.epoch > self.epoch else None


def refuse_lease_set_back(layout: Layout) -> None:
    """Refuse to go on where every publish would be fenced out.

    Raises:
        LeaseSetBack: the lease gives out epochs that were given out before.
    """
    # The fences first: whoever takes the next epoch meanwhile may write under it at once.
    highest = max(fences_on_disk(layout), key=lambda fence: fence.epoch, default=None)
    if highest is None or not is_behind(layout, highest.epoch):
        return
    newest = newest_epoch(layout.lease)
    raise LeaseSetBack(
        f"{layout.lease} was lost or set back: its newest epoch is {newest}, and {highest.where} "
        f"was written under epoch {highest.epoch}.",
        remedy=f"tidemill lease repair {layout.name}",
        epoch=newest,
        fence=highest.epoch,
        where=highest.where,
    )


def look_at_lease(pipeline: Pipeline) -> LeaseState:
    """The state of a pipeline's lease.

    Raises:
        TargetUnreachable: a database that is a target does not answer.
    """
    folder = pipeline.layout.lease
    fences = tuple(all_fences(pipeline))
    holder = current_holder(folder)
    return LeaseState(
        pipeline=pipeline.name,
        epoch=newest_epoch(folder),
        holder=holder,
        alive=None if holder is None else _alive(holder),
        fences=fences,
    )


def repair_lease(pipeline: Pipeline, seen: LeaseState, run_id: str) -> LeaseState:
    """Let the lease go on after the highest fence.

    Args:
        seen: What was looked at before.
        run_id: The id under which the lease names this repair.

    Raises:
        LeaseHeld: a live process holds the lease.
    """
    if seen.set_back is not None:
        use_up(pipeline.layout.lease, seen.set_back.epoch, run_id)
    return look_at_lease(pipeline)


def _alive(holder: Holder) -> bool | None:
    if holder.process.gone:
        return False
    return True if holder.process.here else None
