"""The table of what a run can be asked for, and of the documents that it leaves.

A person's request becomes a recomputation, the build of a new generation, or both; and at last one
event of the journal, which says what the targets do.
"""

from dataclasses import dataclass
from typing import Literal

Role = Literal["live", "backfill", "redo", "rebuild", "rewind", "release", "reject", "reinstate"]
RecomputationKind = Literal["backfill", "redo", "reinstate", "rebuild", "rewind"]
GenerationKind = Literal["fork", "rebuild", "rewind"]
EventKind = Literal["increment", "reject", "swap", "replace"]


@dataclass(frozen=True)
class RunKind:
    """One row of the table.

    Args:
        role: What the run is asked for; `live` takes in new input.
        does: What becomes of the rows, as a sentence.
        event: `increment` adds the rows of the next batches, `reject` leaves them out, `swap`
            replaces whole partitions or adds rows between two batches, `replace` replaces all.
        recomputation: The kind of the recomputation that is sealed; None for live batches.
        generation: The kind of the generation that is built and takes over; None for none.
    """

    role: Role
    does: str
    event: EventKind
    recomputation: RecomputationKind | None = None
    generation: GenerationKind | None = None


RUN_KINDS = (
    RunKind("live", "The next batches are published.", "increment"),
    RunKind("release", "A held increment is published after all.", "increment"),
    RunKind(
        "reject", "The input of a held increment is excluded; a held swap is dropped.", "reject"
    ),
    RunKind("reinstate", "The rows of a rejected increment are added.", "swap", "reinstate"),
    RunKind("redo", "Unpublished batches are computed again, row by row.", "increment", "redo"),
    RunKind("redo", "With state: they are run again from there on.", "increment", None, "fork"),
    RunKind("backfill", "Whole partitions are computed again.", "swap", "backfill"),
    RunKind("rebuild", "All input is read again.", "replace", "rebuild", "rebuild"),
    RunKind(
        "rewind",
        "Later runs are undone, and their input is read again.",
        "replace",
        "rewind",
        "rewind",
    ),
)
EVENT_OF: dict[RecomputationKind, EventKind] = {
    kind.recomputation: kind.event for kind in RUN_KINDS if kind.recomputation is not None
}
# The generations that go on from a batch of another; a rebuild begins at the first.
FORKED: tuple[str, ...] = ("fork", "rollover", "rewind")
