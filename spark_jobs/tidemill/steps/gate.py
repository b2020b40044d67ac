"""Gate: seals what was committed since the last increment, and judges exactly that."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.contract.report import Outcome
from tidemill.gate.count_rules import reasons_from_counts, replaces_published
from tidemill.gate.engine_choice import choose_engine
from tidemill.gate.suite import Suite, load_suite
from tidemill.increments.increments import (
    Increment,
    Sealed,
    State,
    Verdict,
    hash_of_files,
)
from tidemill.increments.recent_snapshot import read_history
from tidemill.increments.rejected_rows import reasons_counted, rejected_by_reason
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.run_increment import read_run_increment, remember
from tidemill.ledger.run_request import read_request
from tidemill.reporting.standing import HistoryRead
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.parts.run import Ended
from tidemill.steps.parts.seal import seal
from tidemill.steps.parts.tell import tell, tell_again
from tidemill.storage.run_context import LeasedRun, RunContext


class SealBroken(Refused):
    """The files of an increment are not those that were sealed; carries `increment`."""


def gate(run: RunContext) -> Ended:
    """Seal one increment and judge it alone, or judge this run's own again.

    Returns:
        `done` if it passed, `held` with the reasons, or `needs_spark` where it is too large to be
        judged in this process and `run.spark` is False.

    Raises:
        CheckBroke: the check itself failed, which says nothing about the data.
        SealBroken: the ledger and the sealed set disagree.
    """
    layout = run.pipeline.layout
    with run.hold("gate") as held:
        targets = [target.name for target in run.pipeline.spec.publish]
        own = read_run_increment(layout.run(run.run_id))
        snapshot = read_history(layout, targets, own)
        ended = _seal_and_judge(held, snapshot)
        return replace(ended, read=HistoryRead(snapshot, held.epoch))


def _seal_and_judge(run: LeasedRun, snapshot: Snapshot) -> Ended:
    folder = run.layout.run(run.run_id)
    number = read_run_increment(folder)
    if _seals(run):
        unjudged = _unjudged(snapshot)
        if number is None:
            number = _own(run, unjudged) or seal(run, snapshot) or _live(unjudged)
            if number is not None:
                run.lease.check()
                remember(folder, number)
        waits = _judge_orphans(run, snapshot, (one for one in unjudged if one.number != number))
        if waits is not None:
            return waits
        if number is None:
            return Ended(Outcome.DONE, "nothing new to judge")
    if number is None:
        return Ended(Outcome.DONE, "nothing was computed that could be judged")
    return judge_own(run, snapshot, number)


def judge_own(run: LeasedRun, snapshot: Snapshot, number: int) -> Ended:
    """Judge an increment that is not published yet."""
    event = snapshot.event_of.get(number)
    if event is not None:
        applied = snapshot.published.get(event.seq)
        where = f"already in version {applied.version}" if applied else "already in the journal"
        untold = tell_again(run, snapshot.get(number).verdicts)
        return Ended(Outcome.DONE, where, {"increment": number, "warnings": list(untold)})
    return _judge(run, snapshot, snapshot.get(number))


def _seals(run: RunContext) -> bool:
    """Whether a run that has no increment seals what is new: a redo of one that was forked does."""
    return read_request(run.pipeline.layout.run(run.run_id)).role in ("live", "redo")


def _unjudged(snapshot: Snapshot) -> list[Increment]:
    """What was sealed by runs that did not live to judge it."""
    in_order = {one.number for one in snapshot.in_order()}
    return [
        one
        for one in snapshot.increments
        if one.state is State.SEALED and (one.sealed.recomputation or one.number in in_order)
    ]


def _own(run: RunContext, unjudged: Sequence[Increment]) -> int | None:
    """The live batches that this run has sealed, and did not live to remember."""
    return _live([one for one in unjudged if one.sealed.run_id == run.run_id])


def _live(unjudged: Sequence[Increment]) -> int | None:
    """Live batches; a run with none of its own tells what becomes of another one's."""
    return next((one.number for one in unjudged if one.sealed.recomputation is None), None)


def _judge_orphans(
    run: LeasedRun, snapshot: Snapshot, orphans: Iterable[Increment]
) -> Ended | None:
    """Judge what other runs have sealed, each in the name of its own.

    A run that was asked to compute something again judges it too, if it comes back; until then a
    redo would block all that comes after it.

    Returns:
        Why one cannot be judged here, None where all are judged.
    """
    for increment in orphans:
        its_run = replace(run, run_id=increment.sealed.run_id)
        ended = _judge(its_run, snapshot, increment)
        run.log(f"of run {its_run.run_id}: {ended.reason}")
        if ended.outcome is Outcome.NEEDS_SPARK:
            return ended
    return None


def _judge(run: LeasedRun, snapshot: Snapshot, increment: Increment) -> Ended:
    pipeline, sealed = run.pipeline, increment.sealed
    if increment.state is State.RELEASED or increment.state.without_rows:
        return Ended(Outcome.DONE, f"increment {sealed.increment:06d} was {increment.state}")
    ledger = Ledger(pipeline.layout, sealed.generation)
    batches = ledger.batches(sealed.first, sealed.last)
    if hash_of_files(batches, sealed.net) != sealed.files_hash:
        raise SealBroken(
            f"The ledger's files of increment {sealed.increment:06d} are not those sealed.",
            remedy="Restore ledger/ and increments/ from one backup.",
            increment=sealed.increment,
        )
    if sealed.recomputation is not None and sealed.recomputation.kind == "rewind":
        return _pass_again(run, snapshot, sealed)
    suite = load_suite(pipeline.suite_file)
    columns = json.dumps(ledger.table_schema(batches[-1]))
    limit = pipeline.spec.gate.in_process_max
    good = [file for batch in batches for file in batch.outputs if not file.rejected]
    size = sum(file.uncompressed_bytes for file in (good if sealed.net is None else sealed.net))
    formats = {written.format for written in ledger.written(batches).values()}
    choice = choose_engine(size, limit, suite, columns, formats)
    if choice.engine == "spark" and not run.spark:
        return Ended(Outcome.NEEDS_SPARK, choice.why, {"increment": sealed.increment})
    follows = sealed.first > 0 and sealed.recomputation is None
    before = ledger.batches(sealed.first - 1, sealed.first - 1) if follows else []
    reasons = reasons_from_counts(pipeline.spec.gate, sealed, batches, before)
    if reasons and sealed.rejected:
        reasons.append(f"rejected: {reasons_counted(rejected_by_reason(ledger, sealed))}")
    judgement: dict[str, Any] = {}
    warnings: tuple[str, ...] = ()
    # Row counts are expected of a delivery; a backfill and a rebuild have the rows of many.
    expected = suite.without_row_counts() if replaces_published(sealed) else suite
    if len(expected.expectations) < len(suite.expectations):
        run.log(f"the row counts in {suite.path} are those of one increment, and not judged here")
    if sealed.rows and expected.expectations:
        # Great Expectations costs seconds to import, and counts alone decide an empty increment.
        from tidemill.steps.parts.judge_increment import judge_increment

        found = judge_increment(run, expected, choice, columns, sealed, batches)
        reasons += [outcome.sentence for outcome in found.failed_critical]
        warnings = tuple(outcome.sentence for outcome in found.warnings)
        judgement = found.model_dump(mode="json")
    verdict = Verdict(
        increment=sealed.increment,
        outcome="held" if reasons else "passed",
        files_hash=sealed.files_hash,
        suite_hash=suite.hash,
        gate_hash=_hash_of_gate(pipeline),
        engine=choice.engine,
        why=choice.why,
        reasons=tuple(reasons),
        warnings=warnings,
        judgement=judgement,
        run_id=run.run_id,
        judged=run.clock(),
        epoch=run.epoch,
    )
    run.lease.check()
    snapshot.judge(verdict)
    return _ended(run, sealed, verdict, suite, tell(run, verdict, suite))


def _pass_again(run: LeasedRun, snapshot: Snapshot, sealed: Sealed) -> Ended:
    """Pass the rows that a rewind keeps: each of them was judged or released before."""
    why = "they were published before"
    verdict = Verdict(
        increment=sealed.increment,
        outcome="passed",
        files_hash=sealed.files_hash,
        suite_hash="",
        gate_hash="",
        engine="none",
        why=why,
        reasons=(),
        run_id=run.run_id,
        judged=run.clock(),
        epoch=run.epoch,
    )
    run.lease.check()
    snapshot.judge(verdict)
    reason = f"increment {sealed.increment:06d} keeps {counted(sealed.rows, 'row')}: {why}"
    return Ended(Outcome.DONE, reason, {"increment": sealed.increment, "rows": sealed.rows})


def _ended(
    run: RunContext, sealed: Sealed, verdict: Verdict, suite: Suite, untold: tuple[str, ...]
) -> Ended:
    facts = {
        "increment": sealed.increment,
        "batches": [sealed.first, sealed.last],
        "rows": sealed.rows,
        "rejected": sealed.rejected,
        "engine": verdict.engine,
        "why": verdict.why,
        "suite": str(suite.path) if suite.expectations else None,
        "reasons": list(verdict.reasons),
        "warnings": [*verdict.warnings, *untold],
        "docs": verdict.judgement.get("docs"),
    }
    for warning in verdict.warnings:
        run.log(f"warning: {warning}")
    name = f"increment {sealed.increment:06d}"
    if verdict.outcome == "held":
        _say_where_to_look(run, sealed, verdict)
        return Ended(Outcome.HELD, f"{name} is held: {'; '.join(verdict.reasons)}", facts)
    if not sealed.rows:
        return Ended(Outcome.DONE, f"{name} passed: no row of it is left to judge", facts)
    return Ended(
        Outcome.DONE, f"{name} passed on {counted(sealed.rows, 'row')} ({verdict.why})", facts
    )


def _say_where_to_look(run: RunContext, sealed: Sealed, verdict: Verdict) -> None:
    shown = f"tidemill rows {run.pipeline.name} --increment {sealed.increment}"
    if sealed.rejected:
        run.log(f"its rejected rows: {shown} --rejected")
    if sealed.rows:
        run.log(f"its rows: {shown}")
    else:
        run.log("no data docs: Great Expectations had no rows to judge")


def _hash_of_gate(pipeline: Pipeline) -> str:
    return hashlib.sha256(pipeline.spec.gate.model_dump_json().encode()).hexdigest()
