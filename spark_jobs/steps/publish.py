"""Publish: what passed becomes visible, strictly in the order of increments, once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from spark_jobs.contract.report import Outcome
from spark_jobs.ledger.clean_source import clean_sources
from spark_jobs.ledger.increments import Increment, Increments, State
from spark_jobs.ledger.journal import Applied, Event, Journal
from spark_jobs.ledger.lease import hold
from spark_jobs.ledger.run_increment import read_run_increment
from spark_jobs.publish.catch_up import CatchUp
from spark_jobs.publish.targets import targets_of
from spark_jobs.steps.step import Ended, Run


def publish(run: Run) -> Ended:
    """Write what may go out into the journal, and let every target apply it.

    Returns:
        `done` with the versions, or `waiting` if this run's increment stands behind a held one.

    Raises:
        Refused: books, schema or order do not agree; to that target nothing was committed.
        TransientError: another writer was faster, this one was fenced out, or a target cannot be
            reached. Targets beside the head target lag then; the next run goes on there.
    """
    layout = run.pipeline.layout
    if not Increments(layout.increments).numbers():
        return Ended(Outcome.DONE, "nothing to publish")
    with hold(layout.lease, step="publish", run_id=run.run_id) as lease:
        # Read under the lease: while we waited for it, a gate may have judged one of them again.
        increments = Increments(layout.increments).all()
        journal = Journal(layout.journal)
        _let_out(run, increments, journal)
        targets = targets_of(run.pipeline, lease.epoch, run.say)
        done = CatchUp(
            run.pipeline, targets, epoch=lease.epoch, run_id=run.run_id, say=run.say
        ).run()
        cleaned = clean_sources(run.pipeline, lease, run.say)
    ended = _ended(run, increments, journal, done)
    return replace(ended, facts={**ended.facts, "input": cleaned}) if cleaned else ended


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


def _fact(event: Event, applied: Applied) -> dict[str, Any]:
    return {
        "increment": event.increment,
        "version": applied.version,
        "batches": [event.first, event.last],
        "rows": event.rows,
        "rejected": event.rejected,
    }


def _ended(
    run: Run, increments: list[Increment], journal: Journal, done: list[tuple[Event, Applied]]
) -> Ended:
    published = [_fact(event, applied) for event, applied in done if applied.head]
    further: dict[str, list[int]] = {}
    for event, applied in done:
        if not applied.head:
            further.setdefault(applied.target, []).append(event.increment)
    facts: dict[str, Any] = {"published": published, "further": further}
    own = read_run_increment(run.pipeline.layout.run(run.run_id))
    gone_out = {event.increment: event.seq for event in journal.events()}
    if own is not None and own not in gone_out:
        first = next(i for i in increments if i.number not in gone_out)
        how = "held" if first.state is State.HELD else "not judged yet"
        reason = f"increment {own:06d} is {how}"
        if first.number != own:
            reason = f"increment {own:06d} waits behind {first.number:06d}, which is {how}"
        held = {"held": first.number} if first.state is State.HELD else {}
        return Ended(Outcome.WAITING, reason, {**facts, **held})
    said = [f"increment {p['increment']:06d} in version {p['version']}" for p in published]
    said += [f"{target} caught up to increment {n[-1]:06d}" for target, n in further.items()]
    if said:
        return Ended(Outcome.DONE, ", ".join(said), facts)
    if own is not None:
        version = journal.published()[gone_out[own]].version
        return Ended(Outcome.DONE, f"already in version {version}", {**facts, "version": version})
    return Ended(Outcome.DONE, "nothing to publish", facts)
