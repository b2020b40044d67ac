"""Withdraw: a person takes back an event that no target has applied."""

from tidemill.contract.errors import UsageError
from tidemill.increments.increment import State
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
    pipeline, layout = run.pipeline, run.layout
    # Also checked before the lease is held: a wrong number need not wait for a long ingest.
    _events_from(Snapshot(layout), seq)
    with run.hold("withdraw", patience=PATIENCE_SECONDS) as held:
        targets = targets_of(pipeline, held.epoch, run.log)
        snapshot = Snapshot(layout)
        events = _events_from(snapshot, seq)
        for event in events:
            having = target_that_has(held, event, targets)
            if having is not None:
                raise _seen(pipeline, event, having)
        # First, or a run that comes before the rest is done would let it out again.
        _hold_increment(
            held,
            snapshot,
            events[0],
            f"event {seq} was withdrawn by {by.strip()}: {reason.strip()}",
        )
        done = [
            withdraw_event(
                held,
                event,
                by=by.strip(),
                reason=reason.strip() if event.seq == seq else f"it stood behind event {seq}",
            )
            # The last one first: of those that are left none stands before one that is gone.
            for event in reversed(events)
        ]
    return done[::-1]


def _events_from(snapshot: Snapshot, seq: int) -> list[Event]:
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
        remedy="What a target has stays: replace its rows with "
        f"`tidemill backfill {pipeline.name}` or `tidemill rebuild {pipeline.name}`.",
        seq=event.seq,
        target=target,
    )
