"""The newest part of a pipeline's past, for pages that must not read all of it."""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property

from tidemill.contract.layout import Layout
from tidemill.increments.increment import Increment
from tidemill.increments.increments import Increments
from tidemill.increments.records import Sealed
from tidemill.increments.snapshot import Snapshot
from tidemill.increments.superseded import superseded
from tidemill.journal.event import Event
from tidemill.journal.journal import Applied

# The most increments that one excerpt reads, however many wait.
MOST_READ = 400
# The clocks of the machines that write the documents may differ.
CLOCKS_DIFFER = timedelta(hours=2)


class Excerpt(Snapshot):
    """The increments from one number on, with the events of the journal since then.

    What is in it has the same state as in the whole snapshot. What it costs does not grow with the
    pipeline's age, but for two listings of folders.

    Args:
        first: The first increment to read; an older one that still has to go out is read too.
    """

    def __init__(self, layout: Layout, first: int) -> None:
        self._first = first
        super().__init__(layout)

    @classmethod
    def of_newest(cls, layout: Layout, count: int) -> Excerpt:
        """The newest increments, and those that wait.

        Args:
            count: The number of newest increments.
        """
        numbers = Increments(layout.increments).numbers()
        return cls(layout, numbers[-count] if len(numbers) > count else 0)

    def read(self) -> None:
        self.last_seq = self.journal.newest()
        self._forget("published", "takeovers", "increments", "sealed_sets")
        self.events = self._events()

    @cached_property
    def sealed_sets(self) -> list[Sealed]:
        """The sealed sets of the excerpt, by number."""
        numbers = self.store.numbers()
        last_out = self._last_in_order()
        oldest = self._first if last_out is None else min(self._first, last_out.increment + 1)
        wanted = [number for number in numbers if number >= oldest]
        if len(wanted) > MOST_READ:
            wanted = [*wanted[: MOST_READ // 2], *wanted[-(MOST_READ // 2) :]]
        return [self.store.sealed(number) for number in wanted]

    @cached_property
    def published(self) -> dict[int, Applied]:
        first = min((event.seq for event in self.events), default=self.last_seq + 1)
        return self.journal.published(after=first - 1)

    @cached_property
    def increments(self) -> list[Increment]:
        gone = superseded(self.journal, self.takeovers, self.sealed_sets)
        return [self.store.read(one, superseded=one.increment in gone) for one in self.sealed_sets]

    def _last_in_order(self) -> Event | None:
        """The newest event that published batches in their order."""
        for seq in range(self.last_seq, 0, -1):
            event = self.journal.event(seq)
            if event is not None and event.in_order:
                return event
        return None

    def _events(self) -> list[Event]:
        """The events since the first increment was sealed, and the newest of live batches."""
        sealed = self.sealed_sets
        since = sealed[0].sealed - CLOCKS_DIFFER if sealed else None
        found: list[Event] = []
        for seq in range(self.last_seq, 0, -1):
            event = self.journal.event(seq)
            if event is None:
                continue
            found.append(event)
            if since is not None and event.at < since and any(one.in_order for one in found):
                break
        return found[::-1]
