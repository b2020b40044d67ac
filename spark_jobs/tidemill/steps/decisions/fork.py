"""Fork: ingests unpublished input again with today's code, from the last published batch on.

With state a batch cannot be computed again alone: the state that it began with is that of the batch
before. So the checkpoint is cut there, and a new generation goes on from the cut.
"""

from collections.abc import Sequence

from tidemill.compatibility.compare import plan_asked_for, refuse_changes
from tidemill.contract.errors import Refused
from tidemill.contract.report import Outcome
from tidemill.generations.build import (
    begin_build,
    refuse_lost_batch_times,
    takeover_of_run,
)
from tidemill.generations.fork import build_fork_from, dropped_flushes
from tidemill.generations.generation import Generation
from tidemill.generations.verify import open_generation
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import Takeover, put_takeover
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.run_request import RunRequest
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.withdraw import withdraw_unpublished
from tidemill.steps.parts.run import Ended
from tidemill.steps.parts.unpublished import NothingToRedo, files_read, unpublished
from tidemill.storage.run_context import LeasedRun, RunContext


class NotGated(Refused):
    """No batch waits, since the pipeline's rows went out at once; carries `pipeline`."""


def fork(run: RunContext, request: RunRequest) -> Ended:
    """Fork the live generation at its last published batch; the rest is new to the fork.

    Tried again, it goes on where it was: the generation is born once.

    Args:
        run: The run; it goes on with a live ingest, and its gate judges what that takes in.
        request: Who asked and why, and which files are not to count any more.

    Raises:
        NothingToRedo: nothing is unpublished.
        NotGated: nothing ever waits.
        NotWithdrawable: a target has part of it, though the journal does not say so.
        ForkPointGone: the checkpoint has forgotten the batch to go on from.
        QueryChanged: the state means nothing to today's code; only a rebuild can help.
    """
    with run.hold("ingest") as held:
        takeover = fork_generation(held, request)
    supersedes = ", ".join(f"{number:06d}" for number in takeover.supersedes) or "no increment"
    facts = {
        "forked": takeover.generation,
        "predecessor": takeover.predecessor,
        "first": takeover.first,
        "supersedes": list(takeover.supersedes),
        "excludes": [file.path for file in takeover.excludes],
    }
    reason = f"{takeover.generation} goes on from batch {takeover.first} of {takeover.predecessor}"
    return Ended(Outcome.DONE, f"{reason}, in the place of {supersedes}", facts)


def fork_generation(run: LeasedRun, request: RunRequest) -> Takeover:
    """The generation that a run forks off: built and born now, or at an earlier try.

    Args:
        request: Who asked and why.
    """
    pipeline, layout = run.pipeline, run.pipeline.layout
    born = takeover_of_run(layout, run.run_id)
    if born is not None:
        return born
    refuse_lost_batch_times(pipeline, "fork")
    generation = open_generation(pipeline)
    snapshot = Snapshot(layout)
    tail = unpublished(snapshot)
    withdraw_unpublished(run, snapshot, tail, by=request.by, reason=f"redo: {request.reason}")
    first = first_unpublished(pipeline, snapshot, generation)
    if first:
        refuse_other_state(pipeline, generation)
    excludes: Sequence[InputFile] = ()
    if request.exclude:
        generation.ledger.complete()
        excludes = files_read(pipeline, first, generation.ledger.latest(), request.exclude)
    return fork_at(run, request, snapshot, [generation], first, excludes)


def fork_at(
    run: LeasedRun,
    request: RunRequest,
    snapshot: Snapshot,
    sources: Sequence[Generation],
    first: int,
    excludes: Sequence[InputFile] = (),
) -> Takeover:
    """Let a fork of the live generation take over.

    Args:
        request: Who asked and why.
        sources: The live generation, with its checkpoint as it is or as snapshots have it.
        first: The first batch that the fork runs itself; nothing from there on is in the journal.
        excludes: Files that do not count any more.

    Raises:
        ForkPointGone: none of the checkpoints holds what the batch before left.
    """
    pipeline, layout = run.pipeline, run.pipeline.layout
    built = begin_build(pipeline, "fork", run.run_id, excludes, run.epoch)
    build_fork_from(pipeline, sources, built, first)
    # Proved before it is live: afterwards there is no way back.
    open_generation(pipeline, built.generation)
    for flush in dropped_flushes(sources[0], first):
        run.log(f"the flush by {flush.by} to {flush.watermark_ms} is not repeated: ask again")
    takeover = Takeover(
        generation=built.generation,
        kind="fork",
        predecessor=snapshot.generation,
        first=first,
        supersedes=tuple(one.number for one in unpublished(snapshot)),
        excludes=built.excludes,
        by=request.by,
        os_user=request.os_user,
        reason=request.reason,
        born=run.clock(),
        epoch=run.epoch,
        after=snapshot.last_seq,
    )
    run.lease.check()
    put_takeover(layout, takeover)
    return takeover


def refuse_other_state(pipeline: Pipeline, generation: Generation) -> None:
    """Refuse code that cannot go on with the state, before there is a fork that would have to."""
    refuse_changes(pipeline, generation.note)
    if plan_asked_for(pipeline, generation.note):
        from tidemill.engine.session import open_session
        from tidemill.engine.shape.birth_comparison import refuse_changed_plan

        session = open_session(pipeline, "ingest")
        refuse_changed_plan(session, pipeline, generation.note)


def first_unpublished(pipeline: Pipeline, snapshot: Snapshot, generation: Generation) -> int:
    """The batch after the last that is in the journal.

    Raises:
        NotGated: there is no journal: what a batch wrote is with Spark's own sink.
        NothingToRedo: no batch was planned since.
    """
    if not pipeline.spec.published or (generation.note and generation.note.writes == "nothing"):
        raise NotGated(
            f"{pipeline.name} writes to a sink of Spark's own, which gives nothing back.",
            remedy="Nothing is held there: fix the code, and run it.",
            pipeline=pipeline.name,
        )
    first = snapshot.last_published(generation.name) + 1
    if generation.planned < first:
        raise NothingToRedo(
            f"Everything that {pipeline.name} has committed is published.",
            remedy="To compute published days again: "
            f"tidemill backfill {pipeline.name} --from DAY --to DAY.",
            pipeline=pipeline.name,
        )
    return first
