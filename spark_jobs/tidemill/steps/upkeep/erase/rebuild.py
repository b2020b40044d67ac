"""An erasure from a pipeline with state: all input is read again, without the rows.

Its engine leaves the rows of the named sources out before the transform. The new generation takes
the place of the live one as in any rebuild; the erasure holds the lease all the while.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidemill.contract.errors import Refused
from tidemill.contract.report import Outcome
from tidemill.gate.suite import load_suite
from tidemill.generations.build import refuse_lost_batch_times
from tidemill.increments.exclusions import excluded
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.publish.swap_support import refuse_backfill
from tidemill.sources.input_part import InputPart
from tidemill.sources.kinds import open_source
from tidemill.sources.retention import gone, input_read
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.rebuild import InputLost, rebuild
from tidemill.steps.decisions.release import record_release
from tidemill.steps.gate import judge_own
from tidemill.steps.publish import publish_once
from tidemill.steps.upkeep.erase.row_file import NotErasable
from tidemill.storage.erasures import Erasure
from tidemill.storage.run_context import LeasedRun


class ErasureHeld(Refused):
    """The gate holds a table without erased rows; carries `pipeline`, `increment`, `reasons`."""


class ErasureInputLost(Refused):
    """Input is gone before an erasure has read it again; carries `pipeline` and `lost`."""


def refuse_unreadable(pipeline: Pipeline, *, accept_loss: bool = False) -> tuple[str, ...]:
    """Refuse a pipeline whose input cannot be read again as it was.

    Args:
        accept_loss: Whether a person accepts that rows of other input go too.

    Returns:
        What may be lost, which is accepted.

    Raises:
        NotErasable: input is gone, or cannot be asked for, or a recomputation waits.
        RecordsGone: a topic ends before what was read of it.
        RecordsReplaced: a topic was compacted.
        TopicRecreated: it is another topic of that name.
        SuiteError: the gate could not judge it.
        SwapUnfit: a target cannot take rows in the place of others.
        BatchTimeLost: rows would get another batch time.
    """
    load_suite(pipeline.suite_file)
    refuse_backfill(pipeline)
    refuse_lost_batch_times(pipeline, "rebuild")
    snapshot = Snapshot(pipeline.layout)
    _refuse_waiting(pipeline, snapshot)
    # What is held or waits was read too, and has not gone out.
    read, _ = input_read(pipeline.layout, snapshot.generation, excluded(snapshot))
    topics = {
        name: (open_source(pipeline, name), ranges)
        for name, ranges in read.ranges.items()
        if name in pipeline.spec.sources
    }
    for source, _ in topics.values():
        source.verify_query(snapshot.generation)
    lost = tuple(_lost(pipeline, read))
    if not lost:
        for source, ranges in topics.values():
            source.verify_held(snapshot.generation, ranges)
    elif not accept_loss:
        raise NotErasable(
            f"Rows of {pipeline.name} cannot be erased: its input would have to be read again, and "
            f"{lost[0]}.",
            remedy="Nothing was changed. Bring it back, from an archive or a backup; or add "
            "--accept-loss: rows of what cannot be read again then leave the table too.",
            pipeline=pipeline.name,
            reasons=lost,
        )
    return lost


def _refuse_waiting(pipeline: Pipeline, snapshot: Snapshot) -> None:
    """Refuse a pipeline with a recomputation that waits for a decision.

    Raises:
        NotErasable: one is sealed and not published.
    """
    for one in snapshot.increments:
        is_open = one.number not in snapshot.event_of and not one.state.closed
        if one.sealed.recomputation is not None and is_open:
            raise NotErasable(
                f"Increment {one.number:06d} of {pipeline.name}, which was computed again, is not "
                "published.",
                remedy="Nothing was changed. Publish it, or reject it: tidemill reject "
                f"{pipeline.name} {one.number} --reason TEXT",
                pipeline=pipeline.name,
                reasons=(f"increment {one.number}",),
            )


def _lost(pipeline: Pipeline, read: InputPart) -> Iterator[str]:
    """What sources no longer give, and which of them cannot be asked."""
    lost = gone(pipeline, read)
    if lost:
        yield f"its sources no longer hold {lost}"
    for name, source in pipeline.spec.sources.items():
        if not source.READS_AGAIN:
            yield (
                f"sources.{name} is of kind {source.kind}, which cannot be asked whether it still "
                "gives what was read of it"
            )


def rebuild_without(run: LeasedRun, erasure: Erasure, *, release: bool, accept_loss: bool) -> str:
    """Read all input again without the rows of an erasure, and publish what comes of it.

    Tried again, it goes on where it was: the generation is the erasure's.

    Args:
        run: Holds the pipeline's lease.
        release: Whether the table is published though the gate holds it.
        accept_loss: Whether it goes on without input that is gone.

    Returns:
        The generation, which is live.

    Raises:
        ErasureHeld: the gate holds it.
        ErasureInputLost: input is gone since the erasure began.
        TidemillError: as ingest, gate and publish.
    """
    own = replace(run, run_id=erasure.run_id)
    request = RunRequest(
        role="rebuild", by=erasure.by, reason=erasure.reason, accept_loss=accept_loss
    )
    fix_request(own.layout.run(own.run_id), request)
    lost_race = False
    while True:
        try:
            number = int(rebuild(own, request, lost_race=lost_race).facts["increment"])
        except InputLost as error:
            raise _lost_meanwhile(own, error) from error
        snapshot = Snapshot(own.layout)
        judged = judge_own(own, snapshot, number)
        if judged.outcome is Outcome.HELD:
            if not release:
                raise _held(own, number, judged.facts["reasons"])
            record_release(
                snapshot,
                snapshot.get(number),
                own.lease,
                by=erasure.by,
                reason=erasure.reason,
                at=own.clock(),
            )
        ended = publish_once(own)
        lost_race = ended.outcome is Outcome.NEEDS_SPARK
        after = Snapshot(own.layout)
        if number in after.event_of:
            return after.generation
        if not lost_race:
            raise _held(own, number, [ended.reason])


def _lost_meanwhile(run: LeasedRun, error: InputLost) -> ErasureInputLost:
    return ErasureInputLost(
        f"Input of {run.pipeline.name} is gone since rows were begun to be erased: {error.what}",
        remedy="Bring it back, from an archive or a backup, and give the same command again; or "
        "add --accept-loss: rows of what is gone then leave the table too. Every other step is "
        "refused until then.",
        pipeline=run.pipeline.name,
        lost=error.data["lost"],
    )


def _held(run: LeasedRun, number: int, reasons: list[str]) -> ErasureHeld:
    return ErasureHeld(
        f"The gate holds increment {number:06d} of {run.pipeline.name}, which is the table without "
        f"the rows: {'; '.join(reasons)}.",
        remedy="Correct the suite or the gate, and give the same command again; or add --release "
        "to publish the table all the same. Every other step is refused until then.",
        pipeline=run.pipeline.name,
        increment=number,
        reasons=tuple(reasons),
    )
