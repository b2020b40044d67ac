"""Withdraw: a person takes back an event that no target has applied."""

from collections.abc import Iterable

from tidemill.contract.errors import UsageError
from tidemill.increments.increment import Increment, State
from tidemill.increments.records import Verdict
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.journal import Event, Withdrawal
from tidemill.publish.registry import targets_of
from tidemill.publish.withdrawal import target_that_has, withdraw_event
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.checks import refuse_missing_reason
from tidemill.steps.decisions.release import PATIENCE_SECONDS
from tidemill.storage.run_context import LeasedRun, RunContext


class NotWithdrawable(UsageError):
    """There is no such event, or a target has it; carries `seq` and `target`."""


def withdraw(run: RunContext, seq: int, *, by: str, reason: str) -> list[Withdrawal]:
    """Take an event back, and with it those that wait behind it.

    Its increment is held from then on: a person redoes it, rejects it or lets it out after all.
    The increments of the events behind it go out again when their turn has come.

    Args:
        reason: Why, for whoever reads the journal.

    Returns:
        What was written down, in the order of the events.

    Raises:
        NotWithdrawable: there is no such event, or a target has it.
        ReasonMissing: `reason` or `by` is empty.
        TargetUnreachable: it is unknown whether a target has it.
        LeaseHeld: a step is writing to this pipeline.
    """
    refuse_missing_reason("withdrawal", by=by, reason=reason)
    # Also checked before the lease is held: a wrong number need not wait for a long ingest.
    events_from(Snapshot(run.layout), seq)
    with run.hold("withdraw", patience=PATIENCE_SECONDS) as held:
        return _withdraw_from(held, Snapshot(run.layout), seq, by=by.strip(), reason=reason.strip())


def withdraw_unpublished(
    run: LeasedRun, snapshot: Snapshot, increments: Iterable[Increment], *, by: str, reason: str
) -> None:
    """Take back the events of increments that a decision is about, where the journal has them.

    Args:
        snapshot: Read under the lease; it is read again after an event was withdrawn.
        increments: Those that the head target does not have.
        reason: The decision and why it was made.

    Raises:
        NotWithdrawable: a target has one of them, though the journal does not say so.
        TargetUnreachable: it is unknown whether a target has one.
    """
    events = snapshot.event_of
    numbers = [events[one.number].seq for one in increments if one.number in events]
    if not numbers:
        return
    for one in _withdraw_from(run, snapshot, min(numbers), by=by, reason=reason):
        run.log(f"event {one.seq} of the journal is withdrawn: {one.reason}")
    snapshot.read()


def _withdraw_from(
    run: LeasedRun, snapshot: Snapshot, seq: int, *, by: str, reason: str
) -> list[Withdrawal]:
    """Take an event back and those behind it, unless a target has one of them."""
    targets = targets_of(run.pipeline, run.epoch, run.log)
    events = events_from(snapshot, seq)
    for event in events:
        having = target_that_has(run, event, targets)
        if having is not None:
            raise _seen(run.pipeline, event, having)
    # First, or a run that comes before the rest is done would let it out again.
    _hold_increment(run, snapshot, events[0], f"event {seq} was withdrawn by {by}: {reason}")
    done = [
        withdraw_event(
            run,
            event,
            by=by,
            reason=reason if event.seq == seq else f"it stood behind event {seq}",
        )
        # The last one first: of those that are left none stands before one that is gone.
        for event in reversed(events)
    ]
    return done[::-1]


def events_from(snapshot: Snapshot, seq: int) -> list[Event]:
    """The event and those after it."""
    events = [event for event in snapshot.events if event.seq >= seq]
    if not events or events[0].seq != seq:
        raise NotWithdrawable(
            f"The journal of {snapshot.layout.name} has no event {seq} that counts.",
            remedy=f"`tidemill journal show {snapshot.layout.name}` lists them.",
            seq=seq,
            target=None,
        )
    return events


def _hold_increment(run: LeasedRun, snapshot: Snapshot, event: Event, reason: str) -> None:
    """Let an increment wait for a person, where it would go out again at once."""
    increment = snapshot.get(event.increment)
    if increment.state is not State.PASSED:
        return
    snapshot.judge(
        Verdict(
            increment=event.increment,
            outcome="held",
            files_hash=increment.sealed.files_hash,
            suite_hash="",
            gate_hash="",
            engine="person",
            why="a person withdrew it",
            reasons=(reason,),
            run_id=run.run_id,
            judged=run.clock(),
            epoch=run.epoch,
        )
    )


def _seen(pipeline: Pipeline, event: Event, target: str) -> NotWithdrawable:
    return NotWithdrawable(
        f"Event {event.seq} of the journal, of increment {event.increment:06d}, is in {target} "
        "already.",
        remedy="What a target has stays. A run that was killed may not have written that down: "
        f"`tidemill run {pipeline.name}` does. Then replace its rows: "
        f"`tidemill backfill {pipeline.name} --from DAY --to DAY` or "
        f"`tidemill rebuild {pipeline.name} --reason TEXT`.",
        seq=event.seq,
        target=target,
    )
