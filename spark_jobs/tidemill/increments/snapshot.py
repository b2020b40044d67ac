"""A pipeline's journal, takeovers and increments, read once and handed down."""

from collections.abc import Sequence
from functools import cached_property

from tidemill.contract.layout import FIRST_GENERATION, Layout
from tidemill.increments.increment import Increment
from tidemill.increments.increments import Increments
from tidemill.increments.records import Rejection, Release, Sealed, Verdict
from tidemill.increments.superseded import superseded
from tidemill.journal.journal import Applied, Event, Journal
from tidemill.journal.takeovers import Takeover, lineage, read_takeovers


class Snapshot:
    """What a pipeline has sealed, decided and put into its journal, at one moment.

    A step reads it once, under the lease where its decisions must hold, and hands it down. What the
    step adds is added through it. The journal is read at once, the rest at its first use. A step
    reads a new one where another process may have written since: after it has taken the lease, and
    after a computation that did not hold the lease.

    Attributes:
        events: The events of the journal that count, in order.
        last_seq: The number of the last event, withdrawn or not; 0 for an empty journal.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.journal, self.store = self._open()
        self.read()

    def _open(self) -> tuple[Journal, Increments]:
        return Journal(self.layout.journal), Increments(self.layout.increments)

    def read(self) -> None:
        """Read everything again, such as after an event was withdrawn."""
        # The number first: an event that is added between the two reads is then in the way of the
        # next one, which was decided on without it.
        self.last_seq = self.journal.newest()
        self.events = self.journal.events()
        self._forget("published", "takeovers", "increments")

    def _forget(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)

    @cached_property
    def published(self) -> dict[int, Applied]:
        """Event number -> what the head target made of it, for the events that consumers see."""
        return self.journal.published()

    @cached_property
    def takeovers(self) -> list[Takeover]:
        """The takeovers that count, in order."""
        return read_takeovers(self.layout.home)

    @cached_property
    def increments(self) -> list[Increment]:
        """All increments, by number."""
        sealed = [self.store.sealed(number) for number in self.store.numbers()]
        gone = superseded(self.journal, self.takeovers, sealed)
        return [self.store.read(one, superseded=one.increment in gone) for one in sealed]

    @property
    def event_of(self) -> dict[int, Event]:
        """Increment -> its event, for the increments that are in the journal."""
        return {event.increment: event for event in reversed(self.events)}

    @property
    def visible(self) -> set[int]:
        """The increments whose event the head target has applied."""
        return {event.increment for event in self.events if event.seq in self.published}

    @property
    def rows_to_come(self) -> list[Increment]:
        """The increments that consumers do not see, and whose rows may still go out."""
        visible = self.visible
        return [
            one
            for one in self.increments
            if one.number not in visible and not one.state.without_rows
        ]

    @property
    def generation(self) -> str:
        """The live generation."""
        return self.takeovers[-1].generation if self.takeovers else FIRST_GENERATION

    def get(self, number: int) -> Increment:
        """One increment.

        Raises:
            UsageError: there is no increment of that number.
        """
        found = next((one for one in self.increments if one.number == number), None)
        if found is None:
            raise self.store.missing(number)
        return found

    def in_order(self) -> list[Increment]:
        """The increments that are published in the order of batches, in that order.

        Superseded ones are left out, and those of a generation that is not live yet or never was.
        """
        generations = [FIRST_GENERATION, *(one.generation for one in self.takeovers)]
        rank = {name: place for place, name in enumerate(generations)}
        found = [
            one
            for one in self.increments
            if one.sealed.in_order and not one.superseded and one.sealed.covers.generation in rank
        ]
        return sorted(
            found,
            key=lambda one: (rank[one.sealed.covers.generation], one.sealed.covers.first),
        )

    def waiting(self) -> list[Increment]:
        """The increments of `in_order` that are not in the journal yet."""
        gone_out = self.event_of
        return [one for one in self.in_order() if one.number not in gone_out]

    def has_batches_of(self, event: Event, before: Sequence[Event]) -> Event | None:
        """An earlier event that published batches of an event of live batches; None for none.

        Args:
            before: The events before it that were read.
        """
        return next((one for one in before if one.in_order and _same_batches(one, event)), None)

    def last_sealed(self, generation: str) -> int:
        """The last batch of a generation that an increment covers; -1 for none.

        The batches that a fork continues need no increment.
        """
        ranges = [one.sealed.covers for one in self.increments]
        lasts = [one.last for one in ranges if one.generation == generation]
        return max((*lasts, self._before(generation)))

    def last_published(self, generation: str) -> int:
        """The last batch of a generation that is in the journal; -1 for none.

        For a fork that has published nothing yet it is the batch that it was forked at.
        """
        own = (one for one in self.events if one.generation == generation and one.kind != "swap")
        return max((*(one.last for one in own), self._before(generation)))

    def _before(self, generation: str) -> int:
        """The batch before the first of a generation's own."""
        return lineage(self.layout, generation)[generation] - 1

    def append(self, event: Event) -> None:
        """Add an event to the journal, under the number after the last one that was read.

        Raises:
            AlreadyWritten: another writer has added an event since.
        """
        self.journal.append(event)
        self.events.append(event)
        self.last_seq = event.seq
        if event.kind == "replace":
            # From now on its generation is live, and supersedes what the other left unpublished.
            self._forget("takeovers", "increments")

    def seal(self, sealed: Sealed) -> None:
        """Add an increment; as `Increments.seal`."""
        self.store.seal(sealed)
        self._forget("increments")

    def judge(self, verdict: Verdict) -> None:
        """Add a verdict; as `Increments.judge`."""
        self.store.judge(verdict)
        self._read_increment(verdict.increment)

    def decide(self, decision: Release | Rejection) -> None:
        """Record the decision of a person; as `Increments.decide`."""
        self.store.decide(decision)
        self._read_increment(decision.increment)

    def _read_increment(self, number: int) -> None:
        """Read one increment again; a verdict or decision changes no other."""
        known: list[Increment] = self.__dict__.get("increments", [])
        for place, one in enumerate(known):
            if one.number == number:
                known[place] = self.store.read(one.sealed, superseded=one.superseded)


def _same_batches(one: Event, other: Event) -> bool:
    overlap = one.first <= other.last and other.first <= one.last
    return one.generation == other.generation and overlap
