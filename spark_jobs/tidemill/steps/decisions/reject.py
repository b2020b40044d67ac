"""Reject: the input of an unpublished increment no longer counts; reinstate: it counts again.

What takes the place of published rows, such as a backfill, has no input of its own: rejected, it is
dropped, and the published rows stay as they are.
"""

from tidemill.contract.clock import Clock, wall_clock
from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.contract.log import Log
from tidemill.contract.os_user import os_user
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Outcome
from tidemill.increments.increment import State
from tidemill.increments.records import Rejection
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.recomputation import BatchRange
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.run_increment import read_run_increment, remember
from tidemill.ledger.run_request import RunRequest
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.checks import refuse_missing_reason
from tidemill.steps.decisions.recomputed import describe, leased, seal_recomputed
from tidemill.steps.decisions.release import PATIENCE_SECONDS, refuse_decided
from tidemill.steps.decisions.withdraw import withdraw_unpublished
from tidemill.steps.parts.run import Ended
from tidemill.storage.run_context import RunContext


class NotRejectable(Refused):
    """Later batches have its rows in their state; carries `pipeline_class`."""


class NotRejected(Refused):
    """There is nothing to take back; carries `increment` and `state`."""


def reject(
    pipeline: Pipeline,
    number: int,
    *,
    by: str,
    reason: str,
    run_id: str,
    log: Log = lambda _: None,
    clock: Clock = wall_clock,
) -> Rejection:
    """Record that an increment's input does not count; the next publish passes over it.

    A backfill, reinstatement or rebuild is dropped, and its input counts as before.

    Its event is withdrawn, if it stands in the journal and no target has applied it.

    Args:
        reason: Why, for whoever reads the history.
        run_id: Under which this is done; its publish reports about this increment.

    Raises:
        UsageError: no such increment.
        NotHeld: consumers see it, another has its place, or it was rejected before.
        NotWithdrawable: a target has it, though the journal does not say so.
        ReasonMissing: `reason` or `by` is empty.
        NotRejectable: the pipeline keeps state.
        LeaseHeld: a step is writing to this pipeline.
    """
    refuse_missing_reason("rejection", by=by, reason=reason)
    layout, by, reason = pipeline.layout, by.strip(), reason.strip()
    # Also checked before the lease is held: a wrong number need not wait for a long ingest.
    refuse_not_rejectable(pipeline, Snapshot(layout), number)
    run = RunContext(pipeline, run_id, log, clock=clock)
    with run.hold("reject", patience=PATIENCE_SECONDS) as held:
        snapshot = Snapshot(layout)
        increment = refuse_decided(snapshot, number)
        withdraw_unpublished(held, snapshot, [increment], by=by, reason=f"reject: {reason}")
        decision = Rejection(
            increment=number,
            files_hash=increment.sealed.files_hash,
            by=by,
            os_user=os_user(),
            reason=reason,
            rejected=clock(),
            epoch=held.epoch,
        )
        held.lease.check()
        snapshot.decide(decision)
        remember(layout.run(run_id), number)
    return decision


def refuse_not_rejectable(pipeline: Pipeline, snapshot: Snapshot, number: int) -> None:
    """Refuse to reject what consumers see, or an increment whose input later batches depend on.

    Whatever takes the place of published rows can be dropped.

    Raises:
        NotHeld: there is nothing to decide about it.
        NotRejectable: its rows are in the state of later batches.
    """
    if not refuse_decided(snapshot, number).sealed.in_order:
        return
    name = pipeline.name
    note = read_note(pipeline.layout, generation_of(pipeline))
    if note is not None and note.pipeline_class is not PipelineClass.MAP:
        raise NotRejectable(
            f"{name} is of class {note.pipeline_class}: what increment {number:06d} read "
            "is in its state, and in what later batches made of it.",
            remedy=f"tidemill redo {name} --exclude FILE --reason TEXT takes in the rest without "
            f"it; or let it out: tidemill release {name} {number} --reason TEXT.",
            pipeline_class=str(note.pipeline_class),
            increment=number,
        )


def reinstate(run: RunContext, request: RunRequest, *, lost_race: bool = False) -> Ended:
    """Take a rejection back: compute the rows of its input, which are then added.

    Args:
        lease: Held by the caller; None where live runs go on.
        lost_race: Whether it was computed before, and lost the race.

    Raises:
        NotRejected: it was not rejected, was reinstated, or was not passed over yet.
    """
    pipeline = run.pipeline
    refuse_missing_reason("reinstatement", by=request.by, reason=request.reason)
    own = read_run_increment(pipeline.layout.run(run.run_id))
    if own is not None and not lost_race:
        return Ended(Outcome.DONE, f"computed already: increment {own:06d}", {"increment": own})
    number = request.increment or 0
    snapshot = Snapshot(pipeline.layout)
    batches = rejected_batches(snapshot, number)
    recomputation = describe(
        pipeline, request, "reinstate", batches, snapshot.last_seq, reinstates=[number]
    )
    from tidemill.engine.recompute.recompute import recompute
    from tidemill.engine.session import open_session

    session = open_session(pipeline, "reinstate")
    found = recompute(session, run, recomputation, None)
    with leased(run, "reinstate") as held:
        # Read again: another run may have reinstated it meanwhile.
        rejected_batches(Snapshot(pipeline.layout), number)
        again = seal_recomputed(held, found)
    return Ended(
        Outcome.DONE,
        f"the input of increment {number:06d}: {counted(found.rows, 'row')}, "
        f"{found.rejected:,} rejected, as increment {again:06d}",
        {"increment": again, "reinstates": number, "rows": found.rows},
    )


def rejected_batches(snapshot: Snapshot, number: int) -> BatchRange:
    """The batches of a rejected increment that was passed over.

    Raises:
        NotRejected: it is not one.
    """
    increment, events = snapshot.get(number), snapshot.events
    back = any(number in event.recomputation.reinstates for event in events if event.recomputation)
    passed_over = any(event.increment == number for event in events if event.kind == "reject")
    if increment.state is State.REJECTED and passed_over and not back:
        return increment.sealed.covers
    how = "was taken back before" if back else f"is {increment.state}"
    if increment.dropped:
        how = "was dropped, and its input was never left out"
    elif increment.state is State.REJECTED and not passed_over:
        how = "is rejected, and the next run has still to pass over it"
    raise NotRejected(
        f"Increment {number:06d} {how}.",
        remedy=f"Look where it stands: tidemill status {snapshot.layout.name}.",
        increment=number,
        state=str(increment.state),
    )
