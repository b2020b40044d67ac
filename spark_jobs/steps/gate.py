"""Gate: seal what was committed since, and judge exactly that."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spark_jobs.contract.errors import Refused
from spark_jobs.contract.layout import FIRST_GENERATION
from spark_jobs.contract.output import OutputMode
from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.contract.report import Outcome
from spark_jobs.gate.counts import reasons_from_counts
from spark_jobs.gate.engine import choose_engine
from spark_jobs.gate.suite import Suite, load_suite
from spark_jobs.ledger.batch import Batch
from spark_jobs.ledger.batches import Ledger
from spark_jobs.ledger.increments import (
    Increment,
    Increments,
    NetFile,
    Sealed,
    State,
    Verdict,
    hash_of_files,
)
from spark_jobs.ledger.journal import Journal
from spark_jobs.ledger.lease import Lease, hold
from spark_jobs.ledger.run_increment import read_run_increment, remember
from spark_jobs.publish.net_payload import write_net_payload
from spark_jobs.steps.step import Ended, Run


class SealBroken(Refused):
    """The files of an increment are not those that were sealed; carries `increment`."""


def gate(run: Run) -> Ended:
    """Seal one increment and judge it alone, or judge this run's own again.

    Returns:
        `done` if it passed, `held` with the reasons, or `needs_spark` where it is too large to be
        judged in this process and `run.spark` is False.

    Raises:
        CheckBroke: the check itself failed, which says nothing about the data.
        SealBroken: the ledger and the sealed set disagree.
    """
    layout = run.pipeline.layout
    increments = Increments(layout.increments)
    with hold(layout.lease, step="gate", run_id=run.run_id) as lease:
        number = read_run_increment(layout.run(run.run_id))
        if number is None:
            number = _seal(run, increments, lease)
            if number is None:
                return Ended(Outcome.DONE, "nothing new to judge")
            remember(layout.run(run.run_id), number)
        journal = Journal(layout.journal)
        event = journal.of_increment(number)
        if event is not None:
            applied = journal.published().get(event.seq)
            where = f"already in version {applied.version}" if applied else "already in the journal"
            return Ended(Outcome.DONE, where, {"increment": number})
        return _judge(run, increments, increments.get(number))


def _seal(run: Run, increments: Increments, lease: Lease) -> int | None:
    """The number of the increment to judge: a new one, or one that was sealed and never judged."""
    waiting = [i.number for i in increments.all() if i.state is State.SEALED]
    if waiting:
        return waiting[0]
    ledger = Ledger(run.pipeline.layout, FIRST_GENERATION)
    batches = ledger.batches(first=increments.last_sealed(ledger.generation) + 1)
    if not batches:
        return None
    number = max(increments.numbers(), default=0) + 1
    net = _net(run.pipeline, ledger, batches, increments.folder_of(number), lease)
    # Between two looks another gate may have sealed them: whoever lost the lease must not.
    lease.check()
    increments.seal(
        Sealed(
            increment=number,
            generation=ledger.generation,
            first=batches[0].batch,
            last=batches[-1].batch,
            files=sum(len(batch.outputs) for batch in batches) if net is None else len(net),
            files_hash=hash_of_files(batches, net),
            rows=sum(one.rows for one in (batches if net is None else net)),
            rejected=sum(batch.rejected for batch in batches),
            net=net,
            run_id=run.run_id,
            sealed=datetime.now(UTC),
        )
    )
    return number


def _net(
    pipeline: Pipeline, ledger: Ledger, batches: list[Batch], folder: Path, lease: Lease
) -> tuple[NetFile, ...] | None:
    """What the batches come to, where a later one replaces rows of an earlier one."""
    output = pipeline.spec.output
    if output.mode is OutputMode.APPEND:
        return None
    return write_net_payload(
        ledger,
        batches,
        folder,
        mode=output.mode,
        keys=output.keys,
        partition_by=tuple(output.partition_by),
        epoch=lease.epoch,
    )


def _judge(run: Run, increments: Increments, increment: Increment) -> Ended:
    pipeline, sealed = run.pipeline, increment.sealed
    if increment.state is State.RELEASED:
        return Ended(Outcome.DONE, f"increment {sealed.increment:06d} was released")
    ledger = Ledger(pipeline.layout, sealed.generation)
    batches = ledger.batches(sealed.first, sealed.last)
    if hash_of_files(batches, sealed.net) != sealed.files_hash:
        raise SealBroken(
            f"The ledger's files of increment {sealed.increment:06d} are not those sealed.",
            remedy="Restore ledger/ and increments/ from one backup.",
            increment=sealed.increment,
        )
    suite = load_suite(pipeline.suite_file)
    columns = json.dumps(ledger.table_schema(batches[-1]))
    limit = pipeline.spec.gate.in_process_max
    good = [file for batch in batches for file in batch.outputs if not file.rejected]
    size = sum(file.uncompressed_bytes for file in (good if sealed.net is None else sealed.net))
    choice = choose_engine(size, limit, suite, columns)
    if choice.engine == "spark" and not run.spark:
        return Ended(Outcome.NEEDS_SPARK, choice.why, {"increment": sealed.increment})
    before = ledger.batches(sealed.first - 1, sealed.first - 1) if sealed.first else []
    reasons = reasons_from_counts(pipeline.spec.gate, sealed, batches, before)
    judgement: dict[str, Any] = {}
    warnings: tuple[str, ...] = ()
    if sealed.rows:
        # Great Expectations costs seconds to import, and counts alone decide an empty increment.
        from spark_jobs.steps.judgement import judge_increment

        found = judge_increment(run, suite, choice, columns, sealed, batches)
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
        judged=datetime.now(UTC),
    )
    increments.judge(verdict)
    return _ended(run, sealed, verdict, suite)


def _ended(run: Run, sealed: Sealed, verdict: Verdict, suite: Suite) -> Ended:
    facts = {
        "increment": sealed.increment,
        "batches": [sealed.first, sealed.last],
        "rows": sealed.rows,
        "rejected": sealed.rejected,
        "engine": verdict.engine,
        "why": verdict.why,
        "suite": str(suite.path),
        "reasons": list(verdict.reasons),
        "warnings": list(verdict.warnings),
        "docs": verdict.judgement.get("docs"),
    }
    for warning in verdict.warnings:
        run.say(f"warning: {warning}")
    name = f"increment {sealed.increment:06d}"
    if verdict.outcome == "held":
        return Ended(Outcome.HELD, f"{name} is held: {'; '.join(verdict.reasons)}", facts)
    if not sealed.rows:
        return Ended(Outcome.DONE, f"{name} passed: no input came, and no row changed", facts)
    return Ended(Outcome.DONE, f"{name} passed on {sealed.rows:,} rows ({verdict.why})", facts)


def _hash_of_gate(pipeline: Pipeline) -> str:
    return hashlib.sha256(pipeline.spec.gate.model_dump_json().encode()).hexdigest()
