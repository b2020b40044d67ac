"""Release: a person lets a held increment be published in spite of its verdict."""

from datetime import datetime

from tidemill.contract.clock import Clock, wall_clock
from tidemill.contract.errors import UsageError
from tidemill.contract.os_user import os_user
from tidemill.increments.increment import Increment, State
from tidemill.increments.records import Release
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.run_increment import remember
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.checks import refuse_missing_reason
from tidemill.storage.lease import Lease, hold


class NotHeld(UsageError):
    """There is nothing to release; carries `increment`, `state` and, if published, `version`."""


PATIENCE_SECONDS = 30.0


def release(
    pipeline: Pipeline, number: int, *, by: str, reason: str, run_id: str, clock: Clock = wall_clock
) -> Release:
    """Record the decision; the next publish carries it out and writes it into the table's history.

    Args:
        reason: Why, for whoever reads the history.
        run_id: Under which this is done; its publish reports about this increment.

    Raises:
        UsageError: no such increment.
        NotHeld: it is not held.
        ReasonMissing: `reason` or `by` is empty.
        LeaseHeld: a step is writing to this pipeline.
    """
    refuse_missing_reason("release", by=by, reason=reason)
    layout = pipeline.layout
    # Also checked before the lease is held: a wrong number need not wait for a long ingest.
    refuse_not_held(Snapshot(layout), number)
    with hold(layout.lease, step="release", run_id=run_id, patience=PATIENCE_SECONDS) as lease:
        snapshot = Snapshot(layout)
        increment = refuse_not_held(snapshot, number)
        decision = record_release(
            snapshot, increment, lease, by=by.strip(), reason=reason.strip(), at=clock()
        )
        remember(layout.run(run_id), number)
    return decision


def record_release(
    snapshot: Snapshot, increment: Increment, lease: Lease, *, by: str, reason: str, at: datetime
) -> Release:
    """Record under the lease that a held increment goes out.

    Args:
        snapshot: Read under the lease.
        increment: It is held.
    """
    decision = Release(
        increment=increment.number,
        files_hash=increment.sealed.files_hash,
        by=by,
        os_user=os_user(),
        reason=reason,
        released=at,
        epoch=lease.epoch,
    )
    lease.check()
    snapshot.decide(decision)
    return decision


def refuse_not_held(snapshot: Snapshot, number: int) -> Increment:
    """The increment, which awaits a person's decision.

    Raises:
        NotHeld: it was not judged, or needs no decision any more.
    """
    increment, name = refuse_decided(snapshot, number), snapshot.layout.name
    if increment.state is State.SEALED:
        raise _not_held(
            increment,
            "has no verdict yet",
            f"`tidemill run {name}` judges it. If its gate fails each time, go on without it: "
            f"`tidemill redo {name} --reason TEXT` with corrected code or rules, or "
            f"`tidemill reject {name} {number} --reason TEXT`.",
        )
    if increment.may_go_out:
        how = "was released before" if increment.state is State.RELEASED else "has passed"
        raise _not_held(
            increment, how, f"`tidemill run {name}` publishes it when its turn has come."
        )
    return increment


def refuse_decided(snapshot: Snapshot, number: int) -> Increment:
    """The increment, about which a person may still decide.

    Raises:
        NotHeld: consumers see it, another has its place, or it was rejected.
    """
    increment, name = snapshot.get(number), snapshot.layout.name
    event = snapshot.event_of.get(number)
    applied = snapshot.published.get(event.seq) if event else None
    if increment.dropped:
        raise _not_held(
            increment,
            "was dropped",
            f"Nothing of it goes out. Ask for the same again; `tidemill status {name}` says what "
            "it was.",
        )
    if increment.state is State.REJECTED:
        raise _not_held(
            increment,
            "was rejected",
            f"`tidemill run {name}` passes over it; "
            f"`tidemill reinstate {name} {number} --reason TEXT` then takes that back.",
        )
    if applied is not None:
        raise _not_held(
            increment,
            f"is already published, in version {applied.version}",
            f"See it with `tidemill rows {name} --version {applied.version}`.",
            version=applied.version,
        )
    if increment.state is State.SUPERSEDED:
        raise _not_held(
            increment, "was computed again, and another has its place", f"tidemill status {name}."
        )
    return increment


def _not_held(increment: Increment, how: str, remedy: str, version: int | None = None) -> NotHeld:
    return NotHeld(
        f"Increment {increment.number:06d} {how}.",
        remedy=remedy,
        increment=increment.number,
        state=increment.state,
        version=version,
    )
