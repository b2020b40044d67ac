"""Redo: recomputes the unpublished increments with today's code."""

from tidemill.contract.counted import counted
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Outcome
from tidemill.generations.build import takeover_of_run
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.recomputation import BatchRange
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.run_increment import read_run_increment
from tidemill.ledger.run_request import RunRequest
from tidemill.steps.decisions.fork import fork
from tidemill.steps.decisions.recomputed import describe, seal_recomputed
from tidemill.steps.decisions.withdraw import withdraw_unpublished
from tidemill.steps.parts.run import Ended
from tidemill.steps.parts.seal import seal
from tidemill.steps.parts.unpublished import NothingToRedo, files_read, unpublished
from tidemill.storage.run_context import RunContext


def redo(run: RunContext, request: RunRequest) -> Ended:
    """Compute exactly the unpublished tail again; what was held is superseded.

    Row by row that is one batch job over what these batches read; with state the checkpoint is
    forked at the last published batch, and the rest is taken in again. Events of the tail that no
    target has applied are withdrawn from the journal.

    Args:
        request: Who asked and why, and which files are not to count any more.

    Raises:
        NothingToRedo: nothing is unpublished.
        NotRead: a file to leave out was not read by the tail.
        NotWithdrawable: a target has part of it, though the journal does not say so.
    """
    pipeline = run.pipeline
    own = read_run_increment(pipeline.layout.run(run.run_id))
    if own is not None:
        return Ended(Outcome.DONE, f"computed already: increment {own:06d}", {"increment": own})
    found = read_note(pipeline.layout, generation_of(pipeline))
    keeps = found is not None and found.pipeline_class is not PipelineClass.MAP
    if keeps or takeover_of_run(pipeline.layout, run.run_id) is not None:
        return fork(run, request)
    with run.hold("redo") as held:
        # What no gate has looked at yet was made by the same code.
        snapshot = Snapshot(pipeline.layout)
        seal(held, snapshot)
        tail = unpublished(snapshot)
        if not tail:
            raise NothingToRedo(
                f"Everything that {pipeline.name} has sealed is published.",
                remedy="To compute published days again: "
                f"tidemill backfill {pipeline.name} --from DAY --to DAY.",
                pipeline=pipeline.name,
            )
        first = min(one.sealed.covers.first for one in tail)
        last = max(one.sealed.covers.last for one in tail)
        excludes = files_read(pipeline, first, last, request.exclude)
        withdraw_unpublished(held, snapshot, tail, by=request.by, reason=f"redo: {request.reason}")
        recomputation = describe(
            pipeline,
            request,
            "redo",
            BatchRange(generation=snapshot.generation, first=first, last=last),
            snapshot.last_seq,
            supersedes=[one.number for one in tail],
            excludes=excludes,
        )
    from tidemill.engine.recompute.recompute import recompute
    from tidemill.engine.session import open_session

    session = open_session(pipeline, "redo")
    recomputed = recompute(session, run, recomputation, None)
    with run.hold("redo") as held:
        # Read again: the lease was free while the tail was computed.
        left = {one.number for one in unpublished(Snapshot(pipeline.layout))}
        if not left >= set(recomputation.supersedes):
            raise NothingToRedo(
                "Part of the tail was published while it was computed again.",
                remedy="Look where it stands, and redo what is left: "
                f"tidemill status {pipeline.name}.",
                pipeline=pipeline.name,
            )
        number = seal_recomputed(held, recomputed)
    taken = ", ".join(f"{one:06d}" for one in recomputation.supersedes)
    return Ended(
        Outcome.DONE,
        f"batches {recomputation.first} to {recomputation.last} again: "
        f"{counted(recomputed.rows, 'row')}, {recomputed.rejected:,} rejected, as increment "
        f"{number:06d} in the place of {taken}",
        {
            "increment": number,
            "supersedes": list(recomputation.supersedes),
            "rows": recomputed.rows,
        },
    )
