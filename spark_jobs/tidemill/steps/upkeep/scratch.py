"""Generations that nothing goes on with: killed recomputations and rollovers, and dry runs."""

import re
from collections.abc import Iterable, Iterator
from typing import get_args

from tidemill.contract.layout import FIRST_GENERATION, Layout
from tidemill.generations.build import LIVE, generation_builds
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import Takeover
from tidemill.ledger.run_kinds import RecomputationKind
from tidemill.steps.upkeep.leftover import Leftover, leftover
from tidemill.storage import documents

# As `engine.recompute.scratch_generation` names them, and `engine.run.lost_state`.
_SCRATCH = re.compile(rf"(?:{'|'.join(get_args(RecomputationKind))}|state)-[0-9a-f]{{8}}")


def scratch_generations(snapshot: Snapshot, before: float) -> Iterator[Leftover]:
    """The files of scratch generations that no increment, event or takeover names.

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
    scratch = {one for one in listed if _SCRATCH.fullmatch(one)}
    for name in sorted((scratch - named) | _unborn_rollovers(layout, listed)):
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


def _unborn_rollovers(layout: Layout, listed: Iterable[str]) -> set[str]:
    """Those that were not built to the end; a fork or rebuild has a document from its beginning."""
    known = {FIRST_GENERATION, *(one.generation for one in generation_builds(layout))}
    written = (documents.read(p, Takeover) for _, p in documents.numbered(layout.generations))
    for takeover in written:
        if takeover is not None:
            known |= {takeover.generation, takeover.predecessor}
    return {one for one in listed if one.startswith(LIVE)} - known
