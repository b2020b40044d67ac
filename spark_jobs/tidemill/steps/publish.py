"""Publish: makes passed increments visible, strictly in order, each once."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from tidemill.contract.report import Outcome
from tidemill.increments.increment import Increment, State
from tidemill.increments.increments import Increments
from tidemill.increments.recent_snapshot import read_history
from tidemill.increments.settle import settle
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.journal import Applied, Event
from tidemill.ledger.run_increment import read_run_increment, tries
from tidemill.publish.catch_up import CatchUp
from tidemill.publish.registry import targets_of
from tidemill.publish.withdrawal import withdraw_overtaken
from tidemill.reporting.standing import HistoryRead
from tidemill.sources.files.clean_published import clean_sources
from tidemill.sources.kafka.consumer_group import commit_published
from tidemill.steps.decisions.recompute_lost import recompute_lost
from tidemill.steps.gate import judge_own
from tidemill.steps.parts.journal_entries import Entries
from tidemill.steps.parts.register_table import register_table
from tidemill.steps.parts.roll_over import roll_over
from tidemill.steps.parts.run import Ended
from tidemill.storage.run_context import LeasedRun, RunContext

# The attempt made while holding the lease, so that no other run can publish first.
UNDER_THE_LEASE = 3


def publish(run: RunContext) -> Ended:
    """Write what may go out into the journal, and let every target apply it.

    A swap that lost the race is computed again, here, if the step may start Spark: the third time
    under the lease, so that no other run is faster. So is one that a person has released.

    Returns:
        `done` with the versions, `waiting` if this run's increment stands behind a held one, or
        `needs_spark` if it has to be computed again.

    Raises:
        Refused: books, schema or order do not agree; to that target nothing was committed.
        TransientError: another writer was faster, this one was fenced out, or a target cannot be
            reached. Targets beside the head target lag then; the next run goes on there. The same
            where a catalogue cannot name the Delta table.
    """
    layout = run.pipeline.layout
    if not layout.settled.is_dir() and not Increments(layout.increments).numbers():
        return Ended(Outcome.DONE, "nothing to publish")
    while True:
        with run.hold("publish") as held:
            ended = publish_once(held)
            if ended.outcome is not Outcome.NEEDS_SPARK or not run.spark:
                return ended
            run.log(ended.reason)
            lost = Snapshot(layout).get(ended.facts["increment"])
            if tries(layout.run(lost.sealed.run_id)) + 1 >= UNDER_THE_LEASE:
                number = recompute_lost(held, lost)
                judged = judge_own(held, Snapshot(layout), number)
                return judged if judged.outcome is Outcome.HELD else publish_once(held)
        number = recompute_lost(run, lost)
        with run.hold("gate") as held:
            judged = judge_own(held, Snapshot(layout), number)
        if judged.outcome is Outcome.HELD:
            return judged


def publish_once(run: LeasedRun) -> Ended:
    """Publish what may go out under the lease, and compute nothing again.

    Returns:
        As `publish`; `needs_spark` with the increment that lost its race.
    """
    layout = run.pipeline.layout
    # Read under the lease: while we waited for it, a gate may have judged one of them again.
    names = [target.name for target in run.pipeline.spec.publish]
    snapshot = read_history(layout, names, read_run_increment(layout.run(run.run_id)))
    targets = targets_of(run.pipeline, run.epoch, run.log)
    withdraw_overtaken(run, snapshot, targets)
    entries = Entries(run, snapshot)
    entries.append_passed()
    lost = entries.append_recomputed()
    # What a rebuild replaces need not be applied first: a target may refuse it for good.
    withdraw_overtaken(run, snapshot, targets)
    try:
        done = CatchUp(run, snapshot, targets).run()
    finally:
        # Where only a further target failed, consumers see what the head target has applied.
        commit_published(run, snapshot)
    cleaned = clean_sources(run, snapshot.journal)
    settle(snapshot, names, run.epoch)
    ended = _lost(run, snapshot, lost) or _ended(run, snapshot, done)
    facts = {**ended.facts, "input": cleaned} if cleaned else ended.facts
    rolled_over = roll_over(run, snapshot)
    if rolled_over is not None:
        facts = {**facts, "rolled_over": rolled_over.generation}
    register_table(run)
    return replace(ended, facts=facts, read=HistoryRead(snapshot, run.epoch))


def _lost(run: RunContext, snapshot: Snapshot, lost: Mapping[int, str]) -> Ended | None:
    """The increment that this run computes again: its own, or one that a person has released.

    Any other is computed again by the run that it belongs to.
    """
    own = read_run_increment(run.layout.run(run.run_id))
    released = (one for one in lost if snapshot.get(one).state is State.RELEASED)
    number = own if own in lost else next(released, None)
    if number is None:
        return None
    reason = f"increment {number:06d} is computed again: {lost[number]}"
    return Ended(Outcome.NEEDS_SPARK, reason, {"increment": number})


def _fact(event: Event, applied: Applied) -> dict[str, Any]:
    return {
        "increment": event.increment,
        "version": applied.version,
        "kind": event.kind,
        "batches": [event.first, event.last],
        "rows": event.rows,
        "rejected": event.rejected,
    }


def _ended(run: RunContext, snapshot: Snapshot, done: Collection[tuple[Event, Applied]]) -> Ended:
    published = [_fact(event, applied) for event, applied in done if applied.head]
    further: dict[str, list[int]] = {}
    for one, applied in done:
        if not applied.head:
            further.setdefault(applied.target, []).append(one.increment)
    facts: dict[str, Any] = {"published": published, "further": further}
    own = read_run_increment(run.pipeline.layout.run(run.run_id))
    event = None if own is None else snapshot.event_of.get(own)
    dropped = own is not None and snapshot.get(own).dropped
    if own is not None and event is None and not dropped:
        first = _in_the_way(snapshot, own)
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
    if event is not None:
        version = snapshot.published[event.seq].version
        return Ended(Outcome.DONE, f"already in version {version}", {**facts, "version": version})
    what = f"increment {own:06d} was rejected, and nothing of it goes out" if dropped else ""
    return Ended(Outcome.DONE, what or "nothing to publish", facts)


def _in_the_way(snapshot: Snapshot, own: int) -> Increment:
    """The increment that must be decided first; a swap waits only for itself."""
    increment = snapshot.get(own)
    if not increment.sealed.in_order or increment.superseded:
        return increment
    return snapshot.waiting()[0]
