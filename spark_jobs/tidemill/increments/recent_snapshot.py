"""A pipeline's history after what is settled: all that a run of live batches decides by."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import count
from pathlib import Path

from tidemill.contract.layout import Layout
from tidemill.increments.increment import Increment
from tidemill.increments.increments import Increments
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.event import Event
from tidemill.journal.journal import Journal
from tidemill.journal.recent_journal import GAP, RecentJournal
from tidemill.journal.settled import Settled, read_settled


def read_history(layout: Layout, targets: Collection[str], own: int | None) -> Snapshot:
    """What a run decides by: the history after what is settled, where that is enough.

    Recomputed increments are compared with events of any age, and so need the whole history.

    Args:
        targets: The names of the targets that are published to.
        own: The increment of the run, if it has one.
    """
    settled = read_settled(layout, targets)
    if settled is None or (own is not None and own <= settled.increment):
        return Snapshot(layout)
    found = RecentSnapshot(layout, settled)
    return Snapshot(layout) if found.needs_all else found


class RecentSnapshot(Snapshot):
    """The events and increments after what is settled.

    What is in it has the same state as in the whole history.

    Args:
        settled: What is settled, and not in it.
    """

    def __init__(self, layout: Layout, settled: Settled) -> None:
        self.settled = settled
        super().__init__(layout)

    def _open(self) -> tuple[Journal, Increments]:
        layout, settled = self.layout, self.settled
        journal = RecentJournal(layout.journal, settled)
        return journal, RecentIncrements(layout.increments, settled.increment)

    @property
    def needs_all(self) -> bool:
        """Whether something recomputed is open: a judgement, an event or a decision is to come."""
        gone_out = self.event_of
        open_ones = (one for one in self.increments if one.number not in gone_out)
        recomputed = any(one.sealed.recomputation and not one.state.closed for one in open_ones)
        return recomputed or any(
            event.recomputation is not None and event.seq not in self.published
            for event in self.events
        )

    def get(self, number: int) -> Increment:
        if number <= self.settled.increment:
            return Snapshot(self.layout).get(number)
        return super().get(number)

    def has_batches_of(self, event: Event, before: Sequence[Event]) -> Event | None:
        if event.first <= self.settled.published.get(event.generation, -1):
            return self.journal.event(self.settled.seq)
        return super().has_batches_of(event, before)

    def last_sealed(self, generation: str) -> int:
        return max(super().last_sealed(generation), self.settled.sealed.get(generation, -1))

    def last_published(self, generation: str) -> int:
        return max(super().last_published(generation), self.settled.published.get(generation, -1))


class RecentIncrements(Increments):
    """The increments after a number, found without listing their folder."""

    def __init__(self, folder: Path, after: int) -> None:
        super().__init__(folder)
        self._after = after

    def numbers(self) -> list[int]:
        found: list[int] = []
        last = self._after
        for number in count(self._after + 1):
            if number > last + GAP:
                return found
            if self.is_sealed(number):
                found.append(number)
                last = number
        return found

    def next_number(self) -> int:
        return max(self.numbers(), default=self._after) + 1
