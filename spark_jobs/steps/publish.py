"""Publish: what passed becomes visible, strictly in the order of increments, once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from spark_jobs.contract.report import Outcome
from spark_jobs.ledger.clean_source import clean_sources
from spark_jobs.ledger.increments import Increment, Increments, State
from spark_jobs.ledger.journal import Applied, Event, EventKind, Journal
from spark_jobs.ledger.lease import Lease, hold
from spark_jobs.ledger.run_increment import read_run_increment, tries
from spark_jobs.publish.catch_up import CatchUp
from spark_jobs.publish.placing import rival
from spark_jobs.publish.targets import targets_of
from spark_jobs.steps.computing import compute_again
from spark_jobs.steps.gate import judge_own
from spark_jobs.steps.step import Ended, Run

# The try that nobody can be faster than.
UNDER_THE_LEASE = 3


def publish(run: Run) -> Ended:
    """Write what may go out into the journal, and let every target apply it.

    A swap that lost the race is computed again, here, if the step may start Spark: the third time
    under the lease, so that nobody can be faster.

    Returns:
        `done` with the versions, `waiting` if this run's increment stands behind a held one, or
        `needs_spark` if it has to be computed again.

    Raises:
        Refused: books, schema or order do not agree; to that target nothing was committed.
        TransientError: another writer was faster, this one was fenced out, or a target cannot be
            reached. Targets beside the head target lag then; the next run goes on there.
    """
    layout = run.pipeline.layout
    if not Increments(layout.increments).numbers():
        return Ended(Outcome.DONE, "nothing to publish")
    folder = layout.run(run.run_id)
    while True:
        with hold(layout.lease, step="publish", run_id=run.run_id) as lease:
            ended = _publish(run, lease)
            if ended.outcome is not Outcome.NEEDS_SPARK or not run.spark:
                return ended
            run.say(ended.reason)
            if tries(folder) + 1 >= UNDER_THE_LEASE:
                judged = judge_own(run, compute_again(run, lease))
                return judged if judged.outcome is Outcome.HELD else _publish(run, lease)
        number = compute_again(run, None)
        with hold(layout.lease, step="gate", run_id=run.run_id):
            judged = judge_own(run, number)
        if judged.outcome is Outcome.HELD:
            return judged


def _publish(run: Run, lease: Lease) -> Ended:
    layout = run.pipeline.layout
    # Read under the lease: while we waited for it, a gate may have judged one of them again.
    journal = Journal(layout.journal)
    _let_out(run, journal)
    faster = _place_swaps(run, journal)
    targets = targets_of(run.pipeline, lease.epoch, run.say)
    done = CatchUp(run.pipeline, targets, epoch=lease.epoch, run_id=run.run_id, say=run.say).run()
    cleaned = clean_sources(run.pipeline, lease, run.say)
    ended = _lost(faster) if faster is not None else _ended(run, journal, done)
    return replace(ended, facts={**ended.facts, "input": cleaned}) if cleaned else ended


def _let_out(run: Run, journal: Journal) -> None:
    """Add to the journal every increment that may go out, up to the first that may not."""
    gone_out = {event.increment for event in journal.events()}
    for increment in Increments(run.pipeline.layout.increments).in_order():
        if increment.number in gone_out:
            continue
        if not increment.may_go_out:
            return
        _append(run, journal, increment)


def _place_swaps(run: Run, journal: Journal) -> Event | None:
    """Add to the journal what was computed again and has passed, unless somebody was faster.

    Returns:
        The event that was faster than this run's own; of others' their own runs compute anew.
    """
    layout = run.pipeline.layout
    own = read_run_increment(layout.run(run.run_id))
    gone_out = {event.increment for event in journal.events()}
    lost = None
    for increment in Increments(layout.increments).all():
        made = increment.sealed.made
        if made is None or made.in_order or increment.number in gone_out:
            continue
        if increment.may_go_out:
            faster = rival(layout, made)
            if faster is None:
                _append(run, journal, increment)
            elif increment.number == own:
                lost = faster
    return lost


def _lost(faster: Event) -> Ended:
    return Ended(
        Outcome.NEEDS_SPARK,
        f"increment {faster.increment:06d} went out meanwhile and touches what was computed again",
        {"faster": faster.increment, "seq": faster.seq},
    )


def _append(run: Run, journal: Journal, increment: Increment) -> None:
    seq = max((event.seq for event in journal.events()), default=0) + 1
    if increment.sealed.made is not None and increment.sealed.made.by_way_of == "rebuild":
        from spark_jobs.steps.rebuild import take_over

        take_over(run.pipeline, increment, seq)
    journal.append(_event(run, seq, increment))


def _event(run: Run, seq: int, increment: Increment) -> Event:
    sealed, verdict, release = increment.sealed, increment.verdict, increment.release
    rejection, place = increment.rejection, increment.sealed.stands_for
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
        files=None if sealed.made is None else sealed.place,
        made=sealed.made,
        rows=0 if rejection else sealed.rows,
        rejected=0 if rejection else sealed.rejected,
        files_hash=decided.files_hash if decided else said["files_hash"],
        verdict=said,
        release=None if release is None else release.model_dump(mode="json"),
        rejection=None if rejection is None else rejection.model_dump(mode="json"),
        run_id=sealed.run_id,
        at=datetime.now(UTC),
    )


def _kind(increment: Increment) -> EventKind:
    if increment.rejection is not None:
        return "reject"
    if increment.sealed.in_order:
        return "increment"
    made = increment.sealed.made
    return "replace" if made is not None and made.by_way_of == "rebuild" else "swap"


def _fact(event: Event, applied: Applied) -> dict[str, Any]:
    return {
        "increment": event.increment,
        "version": applied.version,
        "kind": event.kind,
        "batches": [event.first, event.last],
        "rows": event.rows,
        "rejected": event.rejected,
    }


def _ended(run: Run, journal: Journal, done: list[tuple[Event, Applied]]) -> Ended:
    published = [_fact(event, applied) for event, applied in done if applied.head]
    further: dict[str, list[int]] = {}
    for event, applied in done:
        if not applied.head:
            further.setdefault(applied.target, []).append(event.increment)
    facts: dict[str, Any] = {"published": published, "further": further}
    own = read_run_increment(run.pipeline.layout.run(run.run_id))
    gone_out = {event.increment: event.seq for event in journal.events()}
    if own is not None and own not in gone_out:
        first = _in_the_way(run, own, gone_out)
        how = "not judged yet" if first.state is State.SEALED else str(first.state)
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


def _in_the_way(run: Run, own: int, gone_out: Collection[int]) -> Increment:
    """What has to be decided first: of what goes out in no order, itself."""
    increments = Increments(run.pipeline.layout.increments)
    increment = increments.get(own)
    if not increment.sealed.in_order or increment.superseded:
        return increment
    return next(one for one in increments.in_order() if one.number not in gone_out)
