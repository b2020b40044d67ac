"""An erasure from a pipeline with state: all input is read again, without the rows.

Its engine leaves the rows of the named sources out before the transform. The new generation takes
the place of the live one as in any rebuild; the erasure holds the lease all the while.
"""

from __future__ import annotations

from dataclasses import replace

from tidemill.contract.errors import Refused
from tidemill.contract.report import Outcome
from tidemill.gate.suite import load_suite
from tidemill.generations.build import refuse_lost_batch_times
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.publish.swap_support import refuse_backfill
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.rebuild import lost_input, rebuild
from tidemill.steps.decisions.release import record_release
from tidemill.steps.gate import judge_own
from tidemill.steps.publish import publish_once
from tidemill.steps.upkeep.erase.row_file import NotErasable
from tidemill.storage.erasures import Erasure
from tidemill.storage.run_context import LeasedRun


class ErasureHeld(Refused):
    """The gate holds a table without erased rows; carries `pipeline`, `increment`, `reasons`."""


def refuse_unreadable(pipeline: Pipeline) -> None:
    """Refuse a pipeline whose input cannot be read again as it was.

    Raises:
        NotErasable: input is gone, or a recomputation waits.
        SuiteError: the gate could not judge it.
        SwapUnfit: a target cannot take rows in the place of others.
        BatchTimeLost: rows would get another batch time.
    """
    name = pipeline.name
    load_suite(pipeline.suite_file)
    refuse_backfill(pipeline)
    refuse_lost_batch_times(pipeline, "rebuild")
    snapshot = Snapshot(pipeline.layout)
    for one in snapshot.increments:
        is_open = one.number not in snapshot.event_of and not (one.dropped or one.superseded)
        if one.sealed.recomputation is not None and is_open:
            raise NotErasable(
                f"Increment {one.number:06d} of {name}, which was computed again, is not "
                "published.",
                remedy=f"Nothing was changed. Publish it, or reject it: tidemill reject {name} "
                f"{one.number} --reason TEXT",
                pipeline=name,
                reasons=(f"increment {one.number}",),
            )
    lost = lost_input(pipeline)
    if lost:
        raise NotErasable(
            f"Rows of {name} cannot be erased: its input would have to be read again, and its "
            f"sources no longer hold {lost}.",
            remedy="Nothing was changed. Bring it back, from an archive or a backup; or accept "
            f"the loss first: tidemill rebuild {name} --accept-loss --reason TEXT",
            pipeline=name,
            reasons=(str(lost),),
        )


def rebuild_without(run: LeasedRun, erasure: Erasure, *, release: bool) -> str:
    """Read all input again without the rows of an erasure, and publish what comes of it.

    Tried again, it goes on where it was: the generation is the erasure's.

    Args:
        run: Holds the pipeline's lease.
        release: Whether the table is published though the gate holds it.

    Returns:
        The generation, which is live.

    Raises:
        ErasureHeld: the gate holds it.
        TidemillError: as ingest, gate and publish.
    """
    own = replace(run, run_id=erasure.run_id)
    request = RunRequest(role="rebuild", by=erasure.by, reason=erasure.reason)
    fix_request(own.layout.run(own.run_id), request)
    lost_race = False
    while True:
        number = int(rebuild(own, request, lost_race=lost_race).facts["increment"])
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
