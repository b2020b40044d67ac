"""Takeovers: which generation is live, and which ones came before it.

`generations/000001.json` says that one was born. A fork and a rollover count from then on; a
rebuild and a rewind from the moment in which their event is in the journal, so that both change at
once.
"""

from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field

from tidemill.contract.document import Document
from tidemill.contract.layout import FIRST_GENERATION, Layout
from tidemill.journal.journal import Journal
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.run_kinds import FORKED, GenerationKind
from tidemill.spec.pipeline import Pipeline
from tidemill.storage import documents

# No request asks for a rollover.
TakeoverKind = GenerationKind | Literal["rollover"]


class Takeover(Document):
    """The record that a generation takes over.

    Attributes:
        pipeline: The pipeline that the predecessor belongs to, of a fork under another name; None
            for this one.
        predecessor: The generation before it.
        first: The first batch of its own: 0 of a rebuild, the one after the last published of a
            fork or rollover, the one after the last that stays of a rewind. The batches before are
            those of `predecessor`.
        seq: The seq of the event in the journal that brings it; None of a fork or rollover, which
            need none.
        supersedes: The increments of `predecessor` that it takes the place of.
        excludes: Files that do not count any more from then on.
        os_user: Operating-system user of that process; None in older documents.
        epoch: Epoch of the writer's lease; 0 in older documents.
        after: For a fork or rollover, the last event of the journal that `first` was decided on;
            None in older documents.
    """

    generation: str
    kind: TakeoverKind
    pipeline: str | None = None
    predecessor: str = Field(validation_alias=AliasChoices("predecessor", "of"))
    first: int
    seq: int | None = None
    supersedes: tuple[int, ...] = ()
    excludes: tuple[InputFile, ...] = ()
    by: str
    os_user: str | None = None
    reason: str
    born: datetime
    epoch: int = 0
    after: int | None = None


def read_takeovers(home: Path) -> list[Takeover]:
    """Every takeover that counts, in order.

    Args:
        home: `Layout.home`.
    """
    found = (documents.read(p, Takeover) for _, p in documents.numbered(home / "generations"))
    counted: list[Takeover] = []
    live = FIRST_GENERATION
    for takeover in found:
        if takeover is None or not _counts(home, takeover):
            continue
        # A process that lost its lease may write a rollover of what is not live any more.
        if takeover.kind == "rollover" and takeover.predecessor != live:
            continue
        counted.append(takeover)
        live = takeover.generation
    return counted


def put_takeover(layout: Layout, takeover: Takeover) -> None:
    """Add a takeover; under the lease.

    Raises:
        AlreadyWritten: another writer was first.
    """
    numbers = [number for number, _ in documents.numbered(layout.generations)]
    place = layout.generations / f"{max(numbers, default=0) + 1:06d}.json"
    documents.put(place, takeover)


def current(layout: Layout) -> str:
    """The live generation."""
    found = read_takeovers(layout.home)
    return found[-1].generation if found else FIRST_GENERATION


def generation_of(pipeline: Pipeline) -> str:
    """The generation that a step works on: the live one, unless another is being built."""
    return pipeline.generation or current(pipeline.layout)


def lineage(layout: Layout, generation: str) -> dict[str, int]:
    """The generations whose batches a generation continues, each with the first of its own.

    The generation comes first, then the one that it was forked from, and so on.
    """
    before = {one.generation: one for one in read_takeovers(layout.home) if one.kind in FORKED}
    ancestors = {}
    while (takeover := before.get(generation)) is not None:
        ancestors[generation] = takeover.first
        generation = takeover.predecessor
    return {**ancestors, generation: 0}


def inherited(layout: Layout, generation: str) -> int:
    """The last batch of a generation whose rows are in another pipeline's tables; -1 for none."""
    continued = lineage(layout, generation)
    forked = (
        one.first - 1
        for one in read_takeovers(layout.home)
        if one.pipeline is not None and one.generation in continued
    )
    return next(forked, -1)


def rolled_over(layout: Layout, generation: str) -> str:
    """The generation that a generation goes on from by rollovers alone; itself without one."""
    before = {one.generation: one for one in read_takeovers(layout.home)}
    while (takeover := before.get(generation)) is not None and takeover.kind == "rollover":
        generation = takeover.predecessor
    return generation


def has_rolled_over(layout: Layout, generation: str) -> bool:
    """Whether a rollover is among the generations that a generation continues, itself included."""
    continued = lineage(layout, generation)
    takeovers = read_takeovers(layout.home)
    return any(one.kind == "rollover" and one.generation in continued for one in takeovers)


def owner(layout: Layout, generation: str, batch: int) -> str:
    """The generation that ran a batch: for the first batches of a fork an earlier one."""
    return next(name for name, first in lineage(layout, generation).items() if first <= batch)


def next_generation(layout: Layout) -> str:
    """A name that no generation had yet."""
    folders = (layout.home / "checkpoints", layout.generations)
    found = (path for folder in folders if folder.is_dir() for path in folder.iterdir())
    names = [path.name.partition(".")[0] for path in found]
    taken = [int(name.removeprefix("live-")) for name in names if name.startswith("live-")]
    return f"live-{max(taken, default=1) + 1:04d}"


def _counts(home: Path, takeover: Takeover) -> bool:
    journal = Journal(home / "journal")
    if takeover.seq is None:
        return not _overtaken(journal, takeover)
    event = journal.event(takeover.seq)
    if event is None or (event.kind, event.generation) != ("replace", takeover.generation):
        return False
    # One that came after events which it was not computed with goes out nowhere.
    between = range(
        takeover.seq if event.recomputation is None else event.recomputation.seq + 1, takeover.seq
    )
    late = any(journal.event(number) is not None for number in between)
    return not late or journal.is_published(event.seq)


def _overtaken(journal: Journal, fork: Takeover) -> bool:
    """Whether a newer lease has let out what a fork was to go on without, before it was written."""
    if fork.after is None:
        return False
    in_order = (event for event in journal.following(fork.after) if event.in_order)
    first = next(in_order, None)
    if first is None or first.generation != fork.predecessor:
        return False
    return first.last >= fork.first and first.epoch > fork.epoch
