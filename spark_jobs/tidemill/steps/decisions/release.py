"""Release: a person lets a held increment be published in spite of its verdict."""

from __future__ import annotations

from datetime import UTC, datetime

from tidemill.contract.errors import UsageError
from tidemill.contract.os_user import os_user
from tidemill.increments.increments import Increment, Increments, Release, State
from tidemill.journal.journal import Journal
from tidemill.ledger.run_increment import remember
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.lease import hold


class NotHeld(UsageError):
    """There is nothing to release; carries `increment`, `state` and, if published, `version`."""


class ReasonMissing(UsageError):
    """A decision without a reason or a name; carries `field`."""


PATIENCE_SECONDS = 30.0


def release(pipeline: Pipeline, number: int, *, by: str, reason: str, run_id: str) -> Release:
    """Record the decision; the next publish carries it out and writes it into the table's history.

    Args:
        number: The number of the increment.
        by: The person.
        reason: Why, for whoever reads the history.
        run_id: Under which this is done; its publish reports about this increment.

    Raises:
        UsageError: no such increment.
        NotHeld: it is not held.
        ReasonMissing: `reason` or `by` is empty.
        LeaseHeld: a step is writing to this pipeline.
    """
    must_say_why("release", by=by, reason=reason)
    layout = pipeline.layout
    increments = Increments(layout.increments)
    # Looked at before the lease too: a wrong number need not wait for a long ingest.
    refuse_not_held(pipeline, increments.get(number))
    with hold(layout.lease, step="release", run_id=run_id, patience=PATIENCE_SECONDS) as lease:
        increment = increments.get(number)
        refuse_not_held(pipeline, increment)
        decision = Release(
            increment=number,
            files_hash=increment.sealed.files_hash,
            by=by.strip(),
            os_user=os_user(),
            reason=reason.strip(),
            released=datetime.now(UTC),
            epoch=lease.epoch,
        )
        lease.check()
        increments.decide(decision)
        remember(layout.run(run_id), number)
    return decision


def must_say_why(what: str, *, by: str, reason: str) -> None:
    """Prove that a decision has somebody who made it, and a reason.

    Raises:
        ReasonMissing: one of them is empty.
    """
    for field, value in (("reason", reason), ("by", by)):
        if not value.strip():
            raise ReasonMissing(
                f"The {what}'s {field} is empty.",
                remedy="It goes into the table's history: give it with "
                f"--{field}, in words that still mean something in a year.",
                field=field,
            )


def refuse_not_held(pipeline: Pipeline, increment: Increment) -> None:
    """Prove that a person can decide on an increment.

    Raises:
        NotHeld: it was not judged, or needs no decision any more.
    """
    number, name = increment.number, pipeline.name
    journal = Journal(pipeline.layout.journal)
    event = journal.of_increment(number)
    applied = journal.published().get(event.seq) if event else None
    if applied is not None:
        raise _not_held(
            increment,
            f"is already published, in version {applied.version}",
            f"See it with `tidemill rows {name} --version {applied.version}`.",
            version=applied.version,
        )
    if increment.state is State.SEALED:
        raise _not_held(increment, "has no verdict yet", f"Run `tidemill run {name}` first.")
    if increment.state is State.SUPERSEDED:
        raise _not_held(
            increment, "was computed again, and another has its place", f"tidemill status {name}."
        )
    if increment.may_go_out:
        how = {State.RELEASED: "was released before", State.REJECTED: "was rejected"}.get(
            increment.state, "has passed"
        )
        raise _not_held(
            increment, how, f"`tidemill run {name}` publishes it when its turn has come."
        )


def _not_held(increment: Increment, how: str, remedy: str, version: int | None = None) -> NotHeld:
    return NotHeld(
        f"Increment {increment.number:06d} {how}.",
        remedy=remedy,
        increment=increment.number,
        state=increment.state,
        version=version,
    )
