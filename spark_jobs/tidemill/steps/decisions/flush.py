"""Flush: a person closes open windows, joins and timers up to an event time."""

from datetime import datetime

from tidemill.contract.clock import Clock, wall_clock
from tidemill.contract.errors import UsageError
from tidemill.contract.os_user import os_user
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.generations.generation import Generation
from tidemill.generations.verify import open_generation
from tidemill.ledger.flushes import Flush, put_flush
from tidemill.spec.event_time import as_time
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.checks import refuse_missing_reason
from tidemill.steps.decisions.release import PATIENCE_SECONDS
from tidemill.storage.lease import hold

# By its class, why a watermark would change nothing.
KEPT_WHATEVER = {
    PipelineClass.MAP: "it works row by row and keeps nothing",
    PipelineClass.UNBOUNDED: "no watermark ends what it keeps",
}


class NothingToFlush(UsageError):
    """Nothing waits for the watermark to pass that time; carries `pipeline` and `why`."""


def flush(
    pipeline: Pipeline,
    to: datetime,
    *,
    by: str,
    reason: str,
    run_id: str,
    clock: Clock = wall_clock,
) -> Flush:
    """Write down that the next run raises the watermark; rows before it are late from then on.

    Args:
        to: The event time, with a zone.
        reason: Why, for whoever misses rows that came later.

    Returns:
        The flush, or the one that waits already and goes as far.

    Raises:
        ReasonMissing: `reason` or `by` is empty.
        NothingToFlush: the pipeline keeps nothing, has no batch yet, has a batch to finish, or its
            watermark is there already.
        LeaseHeld: a step is writing to this pipeline.
    """
    refuse_missing_reason("flush", by=by, reason=reason)
    watermark_ms = _milliseconds(to)
    with hold(pipeline.layout.lease, step="flush", run_id=run_id, patience=PATIENCE_SECONDS):
        generation = open_generation(pipeline)
        asked = Flush(
            batch=_batch(pipeline, generation, watermark_ms),
            watermark_ms=watermark_ms,
            by=by.strip(),
            os_user=os_user(),
            reason=reason.strip(),
            asked=clock(),
        )
        waiting = put_flush(pipeline.layout, generation.name, asked)
    if waiting.watermark_ms != watermark_ms:
        raise _refused(pipeline, "another flush awaits the next run; run the pipeline first")
    return waiting


def flushed_batch(pipeline: Pipeline, to: datetime) -> int:
    """The batch that would close what is open up to an event time.

    Raises:
        NothingToFlush: as for `flush`.
    """
    return _batch(pipeline, open_generation(pipeline), _milliseconds(to))


def _milliseconds(to: datetime) -> int:
    return int(to.timestamp() * 1000)


def _batch(pipeline: Pipeline, generation: Generation, watermark_ms: int) -> int:
    last = generation.committed
    kind = PipelineClass.MAP if generation.note is None else generation.note.pipeline_class
    if kind in KEPT_WHATEVER:
        raise _refused(pipeline, KEPT_WHATEVER[kind])
    if last < 0 or generation.unfinished:
        raise _refused(pipeline, "a batch is to be finished first; run the pipeline")
    reached = generation.checkpoint.commits[last].next_watermark_ms
    if reached >= watermark_ms:
        raise _refused(pipeline, f"its watermark is {as_time(reached)} already")
    return last + 1


def _refused(pipeline: Pipeline, why: str) -> NothingToFlush:
    return NothingToFlush(
        f"{pipeline.name} cannot be flushed: {why}.",
        remedy=f"Look where it stands: tidemill status {pipeline.name}.",
        pipeline=pipeline.name,
        why=why,
    )
