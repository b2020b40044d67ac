"""Rewind: checkpoint, sink log and every target go back to the end of an earlier run, together.

A new generation is forked at the last batch that stays. It takes over with an event that leaves
every target with the rows of that time, and the next run reads the input after it again. What was
published since stays in the books, undone by an event that names who asked for it.
"""

import uuid
from dataclasses import dataclass, replace

from tidemill.contract.counted import counted
from tidemill.contract.report import Outcome
from tidemill.generations.build import begin_build, refuse_lost_batch_times
from tidemill.generations.checkpoint_snapshot import places_to_fork_from
from tidemill.generations.fork import build_fork_from, dropped_flushes
from tidemill.generations.kept_rows import keep_rows, verify_kept
from tidemill.generations.verify import open_generation
from tidemill.increments.exclusions import excluded
from tidemill.increments.rewind_point import NotRewindable, RewindPoint, find_rewind_point
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.partition_set import Partitions
from tidemill.journal.recomputation import BatchRange
from tidemill.ledger.generation_note import GenerationNote, read_note
from tidemill.ledger.run_increment import read_run_increment
from tidemill.ledger.run_request import RunRequest
from tidemill.sources.input_part import InputPart
from tidemill.sources.retention import gone, published_input, unread
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.fork import refuse_other_state
from tidemill.steps.decisions.rebuild import InputLost
from tidemill.steps.decisions.recomputed import describe, leased, note
from tidemill.steps.parts.run import Ended
from tidemill.steps.parts.seal import seal_batches
from tidemill.storage.run_context import LeasedRun, RunContext


@dataclass(frozen=True)
class RewindPlan:
    """What a rewind would do.

    Args:
        rows: That stay published, before rows of one key are merged.
        again: Published input that the next run reads again.
        lost: What of it the sources no longer hold.
        note: The note of the live generation.
    """

    point: RewindPoint
    rows: int
    again: InputPart
    lost: InputPart
    note: GenerationNote

    def phrases(self) -> list[str]:
        """What would be done, as phrases."""
        undone = [event for event in self.point.undone if event.kind == "increment"]
        rows = sum(event.rows for event in undone)
        found = [
            f"go on after batch {self.point.last}, event {self.point.seq} of the journal",
            f"take {counted(len(undone), 'increment')} out of every target: {counted(rows, 'row')}",
        ]
        if self.again:
            found.append(f"read again: {self.again}")
        if self.lost:
            found.append(f"lose the rows of what the sources no longer hold: {self.lost}")
        return found


def plan_rewind(pipeline: Pipeline, snapshot: Snapshot, request: RunRequest) -> RewindPlan:
    """Find out what a rewind would do; nothing is changed.

    Args:
        snapshot: The whole history.
        request: Names the run, and says whether a loss was accepted.

    Raises:
        NotRewindable: the pipeline cannot go back to that run.
        RewindBlocked: a backfill, reinstatement or rebuild came after it.
        RowsNotKept: the rows of that time cannot be put together again.
        BatchTimeLost: rows would get another batch time than they had.
        InputLost: the sources no longer hold what would be read again, and no person accepted it.
    """
    name, generation = pipeline.name, snapshot.generation
    live = read_note(pipeline.layout, generation)
    if not pipeline.spec.published or live is None or live.writes == "nothing":
        raise NotRewindable(
            f"{name} publishes nothing that could be taken back.",
            remedy="Spark's own sinks keep what they were given.",
            run_id=request.back_to,
        )
    refuse_lost_batch_times(pipeline, "rewind")
    point = find_rewind_point(snapshot, request.back_to)
    rows = verify_kept(pipeline, point, live.mode)
    published, _ = published_input(snapshot, generation, excluded(snapshot))
    again = unread(pipeline.layout, generation, published, point.last)
    lost = gone(pipeline, again)
    if lost and not request.accept_loss:
        raise InputLost(
            f"After a rewind {name} would read {again} again, and the sources no longer hold "
            f"{lost}: its rows would be lost.",
            remedy="Bring it back, from an archive or a backup; or accept it: tidemill checkpoint "
            f"rewind {name} --to {request.back_to} --accept-loss --reason TEXT --apply.",
            lost=lost.as_dict(),
        )
    return RewindPlan(point, rows, again, lost, live)


def rewind(run: RunContext, request: RunRequest, *, lost_race: bool = False) -> Ended:
    """Build what takes over and what stays published, and seal that as one increment.

    Tried again it goes on where it was: the generation is the run's.

    Args:
        request: Who asked and why, and which run to go back to.
        lost_race: Whether it was sealed before, and something went out since.

    Raises:
        ForkPointGone: the checkpoint has forgotten the batch to go on from, and no snapshot has it.
        QueryChanged: the state means nothing to today's code.
        Refused: as `plan_rewind`.
    """
    layout = run.layout
    own = read_run_increment(layout.run(run.run_id))
    if own is not None and not lost_race:
        return Ended(Outcome.DONE, f"computed already: increment {own:06d}", {"increment": own})
    with leased(run, "rewind") as held:
        snapshot = Snapshot(layout)
        plan = plan_rewind(run.pipeline, snapshot, request)
        generation = _build(held, plan)
        number = _seal(held, request, snapshot, plan, generation)
    facts = {
        "increment": number,
        "generation": generation,
        "rewinds_to": plan.point.seq,
        "last": plan.point.last,
        "undone": [event.increment for event in plan.point.undone],
        "again": plan.again.as_dict(),
        "lost": plan.lost.as_dict(),
    }
    reason = f"{generation} goes on after batch {plan.point.last}, with increment {number:06d}"
    return Ended(Outcome.DONE, reason, facts)


def _build(run: LeasedRun, plan: RewindPlan) -> str:
    """Fork the generation that is to take over."""
    pipeline, first = run.pipeline, plan.point.last + 1
    live = open_generation(pipeline)
    refuse_other_state(pipeline, live)
    built = begin_build(pipeline, "rewind", run.run_id, epoch=run.epoch)
    build_fork_from(pipeline, places_to_fork_from(live, plan.point.last), built, first)
    # Proved before it is live: afterwards there is no way back.
    open_generation(pipeline, built.generation)
    for flush in dropped_flushes(live, first):
        run.log(f"the flush by {flush.by} to {flush.watermark_ms} is not repeated: ask again")
    return built.generation


def _seal(
    run: LeasedRun, request: RunRequest, snapshot: Snapshot, plan: RewindPlan, generation: str
) -> int:
    pipeline, point = run.pipeline, plan.point
    lost = read_run_increment(run.layout.run(run.run_id))
    recomputation = describe(
        pipeline,
        request,
        "rewind",
        BatchRange(generation=generation, first=0, last=point.last),
        snapshot.last_seq,
        partitions=Partitions(),
        supersedes=() if lost is None else (lost,),
    ).model_copy(update={"rewinds_to": point.seq})
    name = f"rewind-{uuid.uuid4().hex[:8]}"
    batches = keep_rows(pipeline, point, plan.note, name)
    keeping = replace(pipeline, generation=name)
    number = seal_batches(replace(run, pipeline=keeping), snapshot, batches, recomputation)
    note(run, number)
    return number
