"""The doctor of a run with a request: checks that it can be done."""

from typing import Any

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused, UsageError
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Outcome
from tidemill.generations.build import takeover_of_run
from tidemill.generations.generation import Generation
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.run_increment import read_run_increment
from tidemill.ledger.run_request import RunRequest
from tidemill.publish.swap_support import refuse_backfill
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.backfill import nothing_to_compute, verify_interval
from tidemill.steps.decisions.checks import refuse_missing_reason
from tidemill.steps.decisions.recomputed import verify_published
from tidemill.steps.decisions.reject import refuse_not_rejectable, rejected_batches
from tidemill.steps.decisions.release import refuse_not_held
from tidemill.steps.decisions.rewind import plan_rewind
from tidemill.steps.parts.run import Ended
from tidemill.steps.parts.unpublished import NothingToRedo, files_read, unpublished
from tidemill.storage.run_context import RunContext


class NotComputable(Refused):
    """No interval of this pipeline can be computed again; carries `pipeline_class` and `why`."""


class IncrementMissing(UsageError):
    """A decision that names no increment; carries `role`."""


def asked(run: RunContext, request: RunRequest, generation: Generation | None) -> Ended:
    """Check what a run was asked for; nothing is written.

    Args:
        request: What a person asked for.
        generation: The live one, whose parts agree; None where it does not matter whether they do.

    Returns:
        `done`: the next steps go on with it, or have nothing to do; `skipped` where a backfill
        would change nothing.

    Raises:
        Refused: it cannot be done, and the remedy says what can.
        UsageError: the request is not complete.
    """
    pipeline = run.pipeline
    facts: dict[str, Any] = {"role": request.role, "by": request.by, "reason": request.reason}
    own = read_run_increment(pipeline.layout.run(run.run_id))
    snapshot = Snapshot(pipeline.layout)
    if own is not None:
        event = snapshot.event_of.get(own)
        where = "computed" if event is None else f"event {event.seq} of the journal"
        return Ended(
            Outcome.DONE,
            f"this {request.role} is increment {own:06d} already ({where})",
            {**facts, "increment": own},
        )
    match request.role:
        case "release":
            refuse_missing_reason("release", by=request.by, reason=request.reason)
            refuse_not_held(snapshot, increment_of(pipeline, request))
        case "reject":
            refuse_missing_reason("rejection", by=request.by, reason=request.reason)
            refuse_not_rejectable(pipeline, snapshot, increment_of(pipeline, request))
        case "reinstate":
            refuse_missing_reason("reinstatement", by=request.by, reason=request.reason)
            rejected_batches(snapshot, increment_of(pipeline, request))
            refuse_backfill(pipeline)
        case "redo" if generation is not None:
            refuse_missing_reason("redo", by=request.by, reason=request.reason)
            # Forked already, its tail is no longer that of a generation which has read it.
            if takeover_of_run(pipeline.layout, run.run_id) is None:
                _prove_tail(pipeline, snapshot, request, generation)
        case "rebuild":
            refuse_missing_reason("rebuild", by=request.by, reason=request.reason)
            refuse_backfill(pipeline)
        case "rewind":
            refuse_missing_reason("rewind", by=request.by, reason=request.reason)
            refuse_backfill(pipeline)
            plan_rewind(pipeline, snapshot, request)
        case "backfill" if generation is not None:
            _prove_interval(pipeline, snapshot, request, generation)
            nothing = nothing_to_compute(pipeline, request, snapshot)
            if nothing is not None:
                return Ended(Outcome.SKIPPED, nothing, facts)
        case _:
            pass
    return Ended(Outcome.DONE, _sentence(request), facts)


def _sentence(request: RunRequest) -> str:
    by = f" by {request.by}" if request.by else ""
    if request.role == "backfill":
        dry = "dry run of a backfill" if request.dry_run else "backfill"
        days = f"{counted(len(request.partitions), 'partition')}"
        what = "what was rejected" if request.rejected else days
        return f"{dry}{by}: {f'{request.start} to {request.end}' if request.start else what}"
    number = "" if request.increment is None else f" of increment {request.increment:06d}"
    return f"{request.role}{number}{by}"


def _prove_interval(
    pipeline: Pipeline, snapshot: Snapshot, request: RunRequest, generation: Generation
) -> None:
    """Whatever can be said without Spark; the rest is said before anything is computed."""
    verify_interval(pipeline, request)
    verify_published(snapshot, generation.name)
    note = generation.note
    kind = PipelineClass.MAP if note is None else note.pipeline_class
    if not pipeline.spec.published:
        raise _not_computable(pipeline, kind, "Spark's own sink takes its rows, and none can swap")
    refuse_backfill(pipeline)
    if kind is PipelineClass.UNBOUNDED:
        raise _not_computable(pipeline, kind, "its totals depend on all that ever came")


def _prove_tail(
    pipeline: Pipeline, snapshot: Snapshot, request: RunRequest, generation: Generation
) -> None:
    tail = unpublished(snapshot)
    sealed = snapshot.last_sealed(generation.name)
    if not tail and generation.ledger.latest() <= sealed:
        raise NothingToRedo(
            f"Everything that {pipeline.name} has committed is published.",
            remedy="To compute published days again: "
            f"tidemill backfill {pipeline.name} --from DAY --to DAY.",
            pipeline=pipeline.name,
        )
    if request.exclude and tail:
        first = min(one.sealed.covers.first for one in tail)
        files_read(pipeline, first, generation.ledger.latest(), request.exclude)


def increment_of(pipeline: Pipeline, request: RunRequest) -> int:
    """The increment that a decision is about.

    Raises:
        IncrementMissing: the request names none.
    """
    if request.increment is None:
        raise IncrementMissing(
            f"A {request.role} needs the number of an increment of {pipeline.name}.",
            remedy=f"`tidemill status {pipeline.name}` lists them.",
            role=request.role,
        )
    return request.increment


def _not_computable(pipeline: Pipeline, kind: PipelineClass, why: str) -> NotComputable:
    return NotComputable(
        f"{pipeline.name} is of class {kind}, and no interval of it can be computed again: {why}.",
        remedy=f"Compute it from the beginning: tidemill rebuild {pipeline.name} --reason TEXT.",
        pipeline_class=str(kind),
        why=why,
    )
