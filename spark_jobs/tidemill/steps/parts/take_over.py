"""Records the takeover of a rebuilt generation, before the rebuild's event."""

from tidemill.contract.errors import Refused
from tidemill.generations.build import (
    generation_builds,
    hash_of_excluded,
)
from tidemill.increments.exclusions import excluded
from tidemill.increments.increment import Increment
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import Takeover, put_takeover
from tidemill.steps.parts.unpublished import unpublished
from tidemill.storage.run_context import LeasedRun


class ExclusionsChanged(Refused):
    """A new generation has read what does not count any more; carries `increment`."""


def take_over(run: LeasedRun, snapshot: Snapshot, increment: Increment) -> None:
    """Record that a generation takes over with the next event of the journal.

    Nothing changes until that event is written; from then on the new generation is live, and what
    the other has not published is superseded.

    Args:
        snapshot: The journal that the event is to be added to.

    Raises:
        ExclusionsChanged: it holds input that does not count any more, or lacks some that does.
    """
    layout, recomputation = snapshot.layout, increment.sealed.recomputation
    if recomputation is None:
        return
    built = next(
        one for one in generation_builds(layout) if one.generation == recomputation.generation
    )
    if built.excluded_hash != hash_of_excluded(excluded(snapshot)):
        raise ExclusionsChanged(
            f"Since increment {increment.number:06d} was computed, a person decided that other "
            "input does not count.",
            remedy=f"Rebuild again: tidemill rebuild {layout.name} --reason TEXT.",
            increment=increment.number,
        )
    put_takeover(
        layout,
        Takeover(
            generation=recomputation.generation,
            kind="rebuild",
            predecessor=snapshot.generation,
            first=0,
            seq=snapshot.last_seq + 1,
            supersedes=tuple(one.number for one in unpublished(snapshot)),
            by=recomputation.by,
            os_user=recomputation.os_user,
            reason=recomputation.reason,
            born=run.clock(),
            epoch=run.epoch,
        ),
    )
