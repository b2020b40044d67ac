"""Finds how far a pipeline's history is settled, and writes it down from time to time."""

from collections.abc import Sequence

from tidemill.increments.recent_snapshot import RecentSnapshot
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.settled import Settled, event_hash, put_settled

# A run reads at most as many settled events as this, and a record is written once in as many.
EVERY = 100


def settle(
    snapshot: Snapshot, targets: Sequence[str], epoch: int, every: int | None = None
) -> bool:
    """Write down that history is settled, where enough of it has become so.

    Args:
        snapshot: Read under the lease, as it is after a publish.
        targets: The names of the targets that are published to.
        epoch: The epoch of the lease.
        every: The number of events that are enough.

    Returns:
        Whether a record was written.
    """
    enough = EVERY if every is None else every
    known = snapshot.settled if isinstance(snapshot, RecentSnapshot) else None
    before = 0 if known is None else known.seq
    if snapshot.last_seq - before <= enough:
        return False
    found = _settled(snapshot, known, targets, epoch)
    if found is None or found.seq <= before:
        return False
    put_settled(snapshot.layout, found)
    return True


def _settled(
    snapshot: Snapshot, known: Settled | None, targets: Sequence[str], epoch: int
) -> Settled | None:
    seq, increment = _bounds(snapshot, targets)
    hashed = event_hash(snapshot.layout, seq)
    if hashed is None or increment < 1 or not snapshot.store.is_sealed(increment):
        return None
    sealed = dict(known.sealed) if known else {}
    for one in snapshot.increments:
        if one.number <= increment:
            _raise(sealed, one.sealed.covers.generation, one.sealed.covers.last)
    published = dict(known.published) if known else {}
    for event in snapshot.events:
        if event.seq <= seq and event.kind != "swap":
            _raise(published, event.generation, event.last)
    return Settled(
        seq=seq,
        event=hashed,
        increment=increment,
        targets=tuple(targets),
        sealed=sealed,
        published=published,
        epoch=epoch,
    )


def _raise(lasts: dict[str, int], generation: str, last: int) -> None:
    lasts[generation] = max(last, lasts.get(generation, -1))


def _bounds(snapshot: Snapshot, targets: Sequence[str]) -> tuple[int, int]:
    """The last event and the last increment that are settled: neither is in the other's rest."""
    seq = _last_applied_by_all(snapshot, targets)
    increment = _last_closed(snapshot)
    numbers = [one.number for one in snapshot.increments]
    event_of = {event.increment: event.seq for event in snapshot.events}
    while True:
        goes_out_later = (n for n in numbers if n <= increment and event_of.get(n, 0) > seq)
        is_later = (e.seq for e in snapshot.events if e.seq <= seq and e.increment > increment)
        fewer = min(goes_out_later, default=increment + 1) - 1
        earlier = min(is_later, default=seq + 1) - 1
        if (earlier, fewer) == (seq, increment):
            return seq, increment
        seq, increment = earlier, fewer


def _last_applied_by_all(snapshot: Snapshot, targets: Sequence[str]) -> int:
    """The last event before which every target has applied all, with one of live batches after it.

    That one tells a reader what was published last.
    """
    behind = [number for name in targets for number in snapshot.journal.behind(name)]
    unseen = [event.seq for event in snapshot.events if event.seq not in snapshot.published]
    live = [event.seq for event in snapshot.events if event.kind != "swap"]
    return min((*behind, *unseen, *live[-1:], snapshot.last_seq)) - 1


def _last_closed(snapshot: Snapshot) -> int:
    gone_out = snapshot.event_of
    rest = [one for one in snapshot.increments if one.number not in gone_out]
    newest = max((one.number for one in snapshot.increments), default=0)
    open_ones = [one for one in rest if not one.state.closed]
    if open_ones or any(event.seq not in snapshot.published for event in snapshot.events):
        # What supersedes an increment may itself be rejected or withdrawn yet.
        open_ones = [one for one in rest if not one.dropped]
    return min((one.number for one in open_ones), default=newest + 1) - 1
