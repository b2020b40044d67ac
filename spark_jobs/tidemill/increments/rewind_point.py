"""Finds the event that a rewind goes back to, and those that it undoes."""

from collections.abc import Sequence
from dataclasses import dataclass

from tidemill.contract.errors import Refused, UsageError
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.event import Event
from tidemill.ledger.ledger import Ledger


class NotRewindable(UsageError):
    """A pipeline cannot go back to a run; carries `run_id`."""


class RewindBlocked(Refused):
    """Rows were computed again since, which nothing can take back; carries `seq` and `kind`."""


@dataclass(frozen=True)
class RewindPoint:
    """The point in the journal that a rewind goes back to.

    Args:
        events: The events up to there that still count, in order; the last is the point itself.
        undone: The events after it that still count.
        last: The last batch that stays.
    """

    events: tuple[Event, ...]
    undone: tuple[Event, ...]
    last: int

    @property
    def seq(self) -> int:
        return self.events[-1].seq


def find_rewind_point(snapshot: Snapshot, run_id: str) -> RewindPoint:
    """The point at which everything of a run was published, and nothing after it.

    Args:
        snapshot: The whole history.
        run_id: The run id, of a run that has taken in batches or published an event.

    Raises:
        NotRewindable: nothing of the run is published, or nothing came after it.
        RewindBlocked: a backfill, reinstatement or rebuild came after it.
    """
    counting = not_undone(snapshot.events)
    seq = _last_event_of(snapshot, counting, run_id)
    kept = tuple(event for event in counting if event.seq <= seq)
    undone = tuple(event for event in counting if event.seq > seq)
    name = snapshot.layout.name
    if not undone:
        raise NotRewindable(
            f"Nothing of {name} was published after run {run_id}.",
            remedy=f"To compute again what is not published: tidemill redo {name} --reason TEXT.",
            run_id=run_id,
        )
    blocking = next((one for one in undone if not one.in_order and not _is_rewind(one)), None)
    if blocking is not None:
        raise RewindBlocked(
            f"Event {blocking.seq} of the journal, of increment {blocking.increment:06d}, is a "
            f"{blocking.kind}: it took away rows that were published up to run {run_id}.",
            remedy=f"Go back to a later run (tidemill checkpoint show {name} lists them), or "
            f"compute everything again: tidemill rebuild {name} --reason TEXT.",
            seq=blocking.seq,
            kind=blocking.kind,
        )
    last = next(event.last for event in reversed(kept) if event.kind != "swap")
    return RewindPoint(kept, undone, last)


def not_undone(events: Sequence[Event]) -> list[Event]:
    """The events without those that a later rewind has undone; the rewind itself stays."""
    found: list[Event] = []
    for event in events:
        if _is_rewind(event):
            kept = event.recomputation and event.recomputation.rewinds_to
            found = [one for one in found if one.seq <= (kept or 0)]
        found.append(event)
    return found


def _is_rewind(event: Event) -> bool:
    return event.recomputation is not None and event.recomputation.rewinds_to is not None


def _last_event_of(snapshot: Snapshot, counting: Sequence[Event], run_id: str) -> int:
    published = [event for event in counting if event.seq in snapshot.published]
    own = [event.seq for event in published if event.run_id == run_id]
    if own:
        return max(own)
    # What a killed run has taken in went out with a later one.
    batches = Ledger(snapshot.layout, snapshot.generation).batches()
    last = next((one for one in reversed(batches) if one.run_id == run_id), None)
    holding = (
        event.seq
        for event in published
        if last is not None and event.in_order and event.first <= last.batch <= event.last
    )
    found = max(holding, default=None)
    if found is None:
        name = snapshot.layout.name
        raise NotRewindable(
            f"Nothing of run {run_id} is published by {name}.",
            remedy=f"`tidemill checkpoint show {name}` lists the runs; one that was undone before "
            "has nothing to go back to.",
            run_id=run_id,
        )
    return found
