"""Decides which events one publish adds to the journal."""

from tidemill.increments import swap_order
from tidemill.increments.increment import Increment
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.journal import Event
from tidemill.ledger.run_kinds import EVENT_OF, EventKind
from tidemill.storage.run_context import LeasedRun


class Entries:
    """Adds events to the journal, decided on one snapshot of it.

    An event gets the number after the last one that was read. If another writer has added an event
    under that number since, the decision did not know it, and nothing is added.

    Args:
        snapshot: Read under the lease.
    """

    def __init__(self, run: LeasedRun, snapshot: Snapshot) -> None:
        self.run = run
        self.snapshot = snapshot

    def append_passed(self) -> None:
        """Add every increment that may go out, in order, up to the first that may not.

        Raises:
            AlreadyWritten: another writer has added an event since the journal was read.
            LeaseLost: a newer epoch took over.
        """
        for increment in self.snapshot.waiting():
            if not increment.may_go_out:
                return
            self.append(increment)

    def append_recomputed(self) -> dict[int, str]:
        """Add each recomputed increment that may go out, unless it has lost its race.

        Returns:
            Those that lost it -> why. They must be computed again.

        Raises:
            AlreadyWritten: another writer has added an event since the journal was read.
            LeaseLost: a newer epoch took over.
        """
        snapshot, gone_out = self.snapshot, self.snapshot.event_of
        lost = {}
        for increment in snapshot.increments:
            if increment.sealed.in_order or increment.number in gone_out:
                continue
            if increment.may_go_out:
                why = swap_order.lost_race(snapshot, increment)
                if why is None:
                    self.append(increment)
                else:
                    lost[increment.number] = why
        return lost

    def append(self, increment: Increment) -> None:
        """Add the event of one increment; a new generation takes over with it."""
        self.run.lease.check()
        if _kind(increment) == "replace":
            from tidemill.steps.parts.take_over import take_over

            take_over(self.run, self.snapshot, increment)
        event = _event(increment, self.snapshot.last_seq + 1, self.run)
        self.run.lease.check()
        self.snapshot.append(event)


def _event(increment: Increment, seq: int, run: LeasedRun) -> Event:
    sealed, verdict, release = increment.sealed, increment.verdict, increment.release
    rejection, covers = increment.rejection, increment.sealed.covers
    said = {} if verdict is None else verdict.model_dump(mode="json", exclude={"judgement"})
    # The hash is the one that was judged or decided on, never one computed here.
    decided = rejection or release
    return Event(
        seq=seq,
        kind=_kind(increment),
        increment=sealed.increment,
        generation=covers.generation,
        first=covers.first,
        last=covers.last,
        files=None if sealed.recomputation is None else sealed.stored_in,
        recomputation=sealed.recomputation,
        rows=0 if rejection else sealed.rows,
        rejected=0 if rejection else sealed.rejected,
        files_hash=decided.files_hash if decided else said["files_hash"],
        verdict=said,
        release=None if release is None else release.model_dump(mode="json"),
        rejection=None if rejection is None else rejection.model_dump(mode="json"),
        run_id=sealed.run_id,
        at=run.clock(),
        epoch=run.epoch,
    )


def _kind(increment: Increment) -> EventKind:
    recomputation = increment.sealed.recomputation
    if increment.rejection is not None:
        return "reject"
    return "increment" if recomputation is None else EVENT_OF[recomputation.kind]
