"""Decides from a table's recorded versions whether an event is the next one to apply.

Increments are counted by their last batch, per generation; a fork goes on from the batch that it
was forked at. Swaps and replacements come between two batches and are counted by their number in
the journal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from deltalake import DeltaTable, Transaction

from tidemill.contract.layout import Layout
from tidemill.file_formats.delta_table import commits_of
from tidemill.journal.journal import Event
from tidemill.journal.takeovers import inherited, lineage
from tidemill.publish.target import NotOurTurn
from tidemill.storage.target_names import name_in_tables

# What a commit to the rejected table says of itself: the number of the event whose rows came, whose
# replaced rows went, or whose rows were taken back.
ADDED = "tidemill.journal"
REPLACED = "tidemill.replaced"
TAKEN_BACK = "tidemill.taken_back"


@dataclass(frozen=True)
class DeltaPosition:
    """The position of an event relative to a Delta table."""

    layout: Layout
    event: Event

    @cached_property
    def _counted_as(self) -> str:
        return name_in_tables(self.layout)

    def head(self, table: DeltaTable | None) -> int:
        """The last batch of the event's generation that is not to be added any more; -1 for none.

        The table holds it; or that of the pipeline does which this one is a fork of.
        """
        for generation in lineage(self.layout, self.event.generation):
            last = _version(table, application(self._counted_as, generation))
            if last is not None:
                return last
        return inherited(self.layout, self.event.generation)

    def has(self, table: DeltaTable | None) -> bool:
        """Whether the table counts the event as applied."""
        if self.event.in_order:
            return self.head(table) >= self.event.last
        seq = _version(table, _swaps(self._counted_as))
        return seq is not None and seq >= self.event.seq

    def check(self, table: DeltaTable | None) -> None:
        """Prove that what comes before the event is in the table.

        Raises:
            NotOurTurn: it is not.
        """
        event, head = self.event, self.head(table)
        if event.kind == "replace" or (
            head + 1 == event.first if event.in_order else head >= event.last
        ):
            return
        path = "a new table" if table is None else table.table_uri
        raise NotOurTurn(
            f"{path} ends at batch {head} of {event.generation}, so event {event.seq} "
            f"({event.kind} of batches {event.first} to {event.last}) is not next.",
            remedy="Nothing was published. Where a table lost what it had, the doctor says which: "
            f"tidemill target repair {self.layout.name} delta (or rejected)",
            path=path,
            head=head,
            first=event.first,
        )

    def transactions(self) -> Iterator[Transaction]:
        """The application transactions that count the event in its commit."""
        event = self.event
        if event.kind != "swap":
            yield Transaction(application(self._counted_as, event.generation), event.last)
        if not event.in_order:
            yield Transaction(_swaps(self._counted_as), event.seq)


@dataclass(frozen=True)
class ReplacementPosition(DeltaPosition):
    """Where the rejected rows that an event takes the place of stand: they go after it is seen."""

    def has(self, table: DeltaTable | None) -> bool:
        seq = _version(table, _replaced(self._counted_as))
        return table is None or (seq is not None and seq >= self.event.seq)

    def check(self, table: DeltaTable | None) -> None:
        """Nothing has to come before: the target that consumers read has the event."""

    def transactions(self) -> Iterator[Transaction]:
        yield Transaction(_replaced(self._counted_as), self.event.seq)


@dataclass(frozen=True)
class TakeBackPosition(DeltaPosition):
    """Where an event stands whose rejected rows were copied and that will not be seen."""

    def has(self, table: DeltaTable | None) -> bool:
        """Whether nothing is there to be taken back: the last word on the event says so."""
        if table is None:
            return True
        seq, said = str(self.event.seq), (ADDED, TAKEN_BACK)
        words = (one for entry in commits_of(table) for one in said if entry.get(one) == seq)
        return next(words, TAKEN_BACK) == TAKEN_BACK

    def check(self, table: DeltaTable | None) -> None:
        """Nothing came after it: it is the last that was copied."""

    def transactions(self) -> Iterator[Transaction]:
        """The application transactions that count up to the event before."""
        event = self.event
        if event.kind != "swap":
            yield Transaction(application(self._counted_as, event.generation), event.first - 1)
        if not event.in_order:
            yield Transaction(_swaps(self._counted_as), event.seq - 1)


def application(pipeline: str, generation: str) -> str:
    """The application id under which a generation's batches are counted."""
    return f"{pipeline}/{generation}"


def _swaps(pipeline: str) -> str:
    """The application id under which events that stand between batches are counted."""
    return f"{pipeline}/journal"


def _replaced(pipeline: str) -> str:
    """The application id under which events are counted whose replaced rejected rows are gone."""
    return f"{pipeline}/replaced"


def _version(table: DeltaTable | None, app: str) -> int | None:
    return table.transaction_version(app) if table else None
