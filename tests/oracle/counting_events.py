"""The published events that no rewind has undone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tidemill.journal.event import Event


@dataclass
class CountingEvents:
    """The events that consumers see, in order."""

    _events: list[Event] = field(default_factory=list)

    def add(self, event: Event) -> None:
        self._events.append(event)

    def run_before(self, back: int) -> str | None:
        """The run whose increment was published so many before the last."""
        return self._events[-1 - back].run_id if len(self._events) > back else None

    def since(self, run_id: str) -> list[Event]:
        """What was published after a run; nothing where the run itself does not count."""
        own = [event.seq for event in self._events if event.run_id == run_id]
        return [event for event in self._events if own and event.seq > max(own)]

    def why_not_rewind(self, run_id: str) -> Iterator[str]:
        """The errors with which a rewind to a run may be refused now."""
        undone = self.since(run_id)
        if not undone:
            yield "NotRewindable"
        if any(_takes_rows_away(event) for event in undone):
            yield "RewindBlocked"

    def rewind(self, event: Event, run_id: str) -> int:
        """Leave out what was published after a run.

        Args:
            event: The rewind, the last of the events.

        Returns:
            The last batch that stays.
        """
        undone = self.since(run_id)
        kept = [one for one in self._events if one not in undone]
        assert event.recomputation is not None
        assert event.recomputation.rewinds_to == kept[-1].seq
        self._events = [*kept, event]
        return next(one.last for one in reversed(kept) if one.kind != "swap")


def _takes_rows_away(event: Event) -> bool:
    """Whether it replaced rows by others, which no rewind brings back."""
    recomputation = event.recomputation
    return recomputation is not None and recomputation.kind in ("backfill", "reinstate", "rebuild")
