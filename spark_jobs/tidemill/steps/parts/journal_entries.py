"""Decides which events one publish adds to the journal."""

from __future__ import annotations

from tidemill.increments.increments import Increment, Increments
from tidemill.journal.journal import Event, EventKind, Journal
from tidemill.publish import swap_order
from tidemill.storage.run_context import LeasedRun


class Entries:
    """The journal with what this publish adds to it.

    An event gets the number after the last one that was read. Where another writer has put one
    there since, that decision was made on too little, and nothing is added.

    Args:
        pipeline: The pipeline of the journal.
    """

    def __init__(self, run: LeasedRun) -> None:
        self.run = run
        self.journal = Journal(run.layout.journal)
        reading = self.journal.read()
        self.events = [*reading.events]
        self.last = reading.last

    def append_passed(self) -> None:
        """Add every increment that may go out, up to the first that may not.

        Raises:
            AlreadyWritten: another writer has added an event since the journal was read.
            LeaseLost: a newer epoch took over.
        """
        gone_out = self._gone_out()
        for increment in Increments(self.run.layout.increments).in_order():
            if increment.number in gone_out:
                continue
            if not increment.may_go_out:
                return
            self._append(increment)

    def append_recomputed(self, own: int | None) -> Event | None:
        """Add what was computed again and has passed, unless somebody was faster.

        Args:
            own: The increment of this run.

        Returns:
            The event that was faster than `own`; of others' their own runs compute again.

        Raises:
            AlreadyWritten: another writer has added an event since the journal was read.
            LeaseLost: a newer epoch took over.
        """
        layout, gone_out = self.run.layout, self._gone_out()
        lost = None
        for increment in Increments(layout.increments).all():
            recomputation = increment.sealed.recomputation
            if recomputation is None or recomputation.in_order or increment.number in gone_out:
                continue
            if increment.may_go_out:
                faster = swap_order.conflicting_event(layout, recomputation, self.events)
                if faster is None:
                    self._append(increment)
                elif increment.number == own:
                    lost = faster
        return lost

    def _gone_out(self) -> set[int]:
        return {event.increment for event in self.events}

    def _append(self, increment: Increment) -> None:
        seq = self.last + 1
        self.run.lease.check()
        if (
            increment.sealed.recomputation is not None
            and increment.sealed.recomputation.kind == "rebuild"
        ):
            from tidemill.steps.parts.take_over import take_over

            take_over(self.run, increment, seq)
        event = _event(increment, seq, self.run)
        self.run.lease.check()
        self.journal.append(event)
        self.events.append(event)
        self.last = seq


def _event(increment: Increment, seq: int, run: LeasedRun) -> Event:
    sealed, verdict, release = increment.sealed, increment.verdict, increment.release
    rejection, place = increment.rejection, increment.sealed.covers
    said = {} if verdict is None else verdict.model_dump(mode="json", exclude={"judgement"})
    # Publish takes the hash that was judged or decided on, never one it computes here.
    decided = rejection or release
    return Event(
        seq=seq,
        kind=_kind(increment),
        increment=sealed.increment,
        generation=place.generation,
        first=place.first,
        last=place.last,
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
    if increment.rejection is not None:
        return "reject"
    if increment.sealed.in_order:
        return "increment"
    recomputation = increment.sealed.recomputation
    return "replace" if recomputation is not None and recomputation.kind == "rebuild" else "swap"
