"""Scratch generations of recomputations that ended before they were sealed, and of dry runs."""

import re
from collections.abc import Iterator
from typing import get_args

from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.run_kinds import RecomputationKind
from tidemill.steps.upkeep.leftover import Leftover, leftover

# As `engine.recompute.scratch_generation` names them.
_SCRATCH = re.compile(rf"(?:{'|'.join(get_args(RecomputationKind))})-[0-9a-f]{{8}}")


def scratch_generations(snapshot: Snapshot, before: float) -> Iterator[Leftover]:
    """The files of scratch generations that no increment and no event names.

    A computation does not hold the lease, so one that may still run is told by its age alone.

    Args:
        before: A generation with a younger file stays; in seconds since 1970.
    """
    layout = snapshot.layout
    named = {one.sealed.generation for one in snapshot.increments}
    for event in snapshot.journal.events():
        named |= {event.generation, event.stored_in.generation}
    checkpoints, ledgers = layout.home / "checkpoints", layout.home / "ledger"
    listed = [
        *(path.name.partition(".")[0] for path in checkpoints.glob("*-*")),
        *(path.name for path in ledgers.glob("*-*")),
        *(path.name[1:] for path in layout.table.glob("_*-*")),
    ]
    for name in sorted({one for one in listed if _SCRATCH.fullmatch(one)} - named):
        places = (
            layout.sink(name),
            layout.checkpoint(name),
            layout.fingerprint(name),
            layout.passed(name, "any").parent,
            layout.note(name),
            layout.ledger(name),
        )
        found = [one for path in places if (one := leftover("scratch", path)) is not None]
        if all(one.modified < before for one in found):
            yield from found
