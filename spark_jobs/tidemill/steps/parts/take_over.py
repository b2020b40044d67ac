"""Records the takeover of a generation, before the event of its rebuild or rewind."""

from tidemill.contract.errors import Refused
from tidemill.generations.build import (
    GenerationBuild,
    generation_builds,
    hash_of_excluded,
)
from tidemill.increments.exclusions import excluded
from tidemill.increments.increment import Increment
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import Takeover, put_takeover
from tidemill.ledger.run_kinds import FORKED
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
            remedy=_again(layout.name, built, increment),
            increment=increment.number,
        )
    put_takeover(
        layout,
        Takeover(
            generation=recomputation.generation,
            kind=built.kind,
            predecessor=snapshot.generation,
            first=recomputation.last + 1 if built.kind in FORKED else 0,
            seq=snapshot.last_seq + 1,
            supersedes=tuple(one.number for one in unpublished(snapshot)),
            by=recomputation.by,
            os_user=recomputation.os_user,
            reason=recomputation.reason,
            born=run.clock(),
            epoch=run.epoch,
        ),
    )


def _again(pipeline: str, built: GenerationBuild, increment: Increment) -> str:
    if built.kind == "rebuild":
        return f"Rebuild again: tidemill rebuild {pipeline} --reason TEXT."
    drop = f"tidemill reject {pipeline} {increment.number} --reason TEXT"
    return f"Drop it, and ask for it again: {drop}."
