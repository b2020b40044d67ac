"""Publish: what passed becomes visible, strictly in the order of increments, once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from spark_jobs.contract.report import Outcome
from spark_jobs.ledger.increments import Increment, Increments, State
from spark_jobs.ledger.journal import Applied, Event, Journal
from spark_jobs.ledger.lease import Lease, hold
from spark_jobs.ledger.run_increment import read_run_increment
from spark_jobs.publish.delta_target import DeltaTarget
from spark_jobs.publish.outgoing import Outgoing
from spark_jobs.publish.target import Target
from spark_jobs.steps.step import Ended, Run


def publish(run: Run) -> Ended:
    """Write what may go out into the journal, and let every target apply it.

    Returns:
        `done` with the versions, or `waiting` if this run's increment stands behind a held one.

    Raises:
        Refused: books, schema or order do not agree; nothing was committed.
        TransientError: another writer was faster, or this one was fenced out.
    """
    layout = run.pipeline.layout
    if not Increments(layout.increments).numbers():
        return Ended(Outcome.DONE, "nothing to publish")
    with hold(layout.lease, step="publish", run_id=run.run_id) as lease:
        # Read under the lease: while we waited for it, a gate may have judged one of them again.
        increments = Increments(layout.increments).all()
        journal = Journal(layout.journal)
        _let_out(run, increments, journal)
        published = _apply(run, journal, lease)
    return _ended(run, increments, journal, published)


def _let_out(run: Run, increments: list[Increment], journal: Journal) -> None:
    """Add to the journal every increment that may go out, up to the first that may not."""
    events = journal.events()
    gone_out = {event.increment for event in events}
    seq = max((event.seq for event in events), default=0)
    for increment in increments:
        if increment.number in gone_out:
            continue
        if not increment.may_go_out:
            return
        seq += 1
        journal.append(_event(run, seq, increment))


def _event(run: Run, seq: int, increment: Increment) -> Event:
    sealed, verdict, release = increment.sealed, increment.verdict, increment.release
    said = {} if verdict is None else verdict.model_dump(mode="json", exclude={"judgement"})
    return Event(
        seq=seq,
        increment=sealed.increment,
        generation=sealed.generation,
        first=sealed.first,
        last=sealed.last,
        rows=sealed.rows,
        rejected=sealed.rejected,
        # Publish takes the hash that was judged or released, never one it computes here.
        files_hash=release.files_hash if release else said["files_hash"],
        verdict=said,
        release=None if release is None else release.model_dump(mode="json"),
        run_id=sealed.run_id,
        at=datetime.now(UTC),
    )


def targets(run: Run, lease: Lease) -> list[Target]:
    """The spec's targets; the first is the one whose head says what consumers see."""
    return [DeltaTarget(run.pipeline.layout, lease.epoch)]


def _apply(run: Run, journal: Journal, lease: Lease) -> list[dict[str, Any]]:
    published = []
    for event in journal.events():
        outgoing = Outgoing(run.pipeline, event, lease.epoch)
        for target in targets(run, lease):
            if journal.applied(event.seq, target.name) is not None:
                continue
            version = target.find(event)
            if version is None:
                payload = outgoing.payload
                outgoing.keep_rejected()
                version = target.apply(event, payload)
            journal.record(
                Applied(
                    seq=event.seq,
                    target=target.name,
                    version=version,
                    run_id=run.run_id,
                    at=datetime.now(UTC),
                )
            )
            run.say(
                f"increment {event.increment:06d}: {event.rows:,} rows in version {version}, "
                f"{event.rejected:,} rejected"
            )
            published.append(
                {
                    "increment": event.increment,
                    "version": version,
                    "batches": [event.first, event.last],
                    "rows": event.rows,
                    "rejected": event.rejected,
                }
            )
    return published


def _ended(
    run: Run, increments: list[Increment], journal: Journal, published: list[dict[str, Any]]
) -> Ended:
    facts = {"published": published}
    own = read_run_increment(run.pipeline.layout.run(run.run_id))
    event = journal.of_increment(own) if own is not None else None
    applied = journal.applied(event.seq) if event else None
    if own is not None and applied is None:
        gone_out = {e.increment for e in journal.events()}
        first = next(i for i in increments if i.number not in gone_out)
        how = "held" if first.state is State.HELD else "not judged yet"
        reason = f"increment {own:06d} is {how}"
        if first.number != own:
            reason = f"increment {own:06d} waits behind {first.number:06d}, which is {how}"
        held = {"held": first.number} if first.state is State.HELD else {}
        return Ended(Outcome.WAITING, reason, {**facts, **held})
    if published:
        return Ended(
            Outcome.DONE,
            ", ".join(
                f"increment {p['increment']:06d} in version {p['version']}" for p in published
            ),
            facts,
        )
    if applied is not None:
        facts["version"] = applied.version  # type: ignore[assignment]
        return Ended(Outcome.DONE, f"already in version {applied.version}", facts)
    return Ended(Outcome.DONE, "nothing to publish", facts)
