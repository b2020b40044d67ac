"""Rebuild: a new generation ingests everything the sources still hold, and takes over.

It is built beside the live one, which goes on. Then, under the lease, it has to have read what the
live one has published; its whole table is judged as one increment, and swapped in at once.
"""

from dataclasses import replace

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.contract.report import Outcome
from tidemill.generations.build import (
    GenerationBuild,
    begin_build,
    build_of_run,
    refuse_lost_batch_times,
)
from tidemill.increments.exclusions import excluded
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.partition_set import Partitions
from tidemill.journal.recomputation import BatchRange
from tidemill.journal.takeovers import current
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.run_increment import read_run_increment
from tidemill.ledger.run_request import RunRequest
from tidemill.sources.input_part import InputPart
from tidemill.sources.retention import gone, published_input, unread
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.build_generation import fill_generation
from tidemill.steps.decisions.recomputed import describe, leased, note
from tidemill.steps.parts.run import Ended
from tidemill.steps.parts.seal import seal_batches
from tidemill.steps.parts.unpublished import files_read
from tidemill.storage.run_context import LeasedRun, RunContext


class NothingToRebuild(Refused):
    """There is no table that a rebuild could replace, or no input; carries `pipeline`."""


class InputLost(Refused):
    """The sources no longer hold what was published; carries `lost`."""


class NotCovered(Refused):
    """A new generation has not read what was published, though it is there; carries `missing`."""


def rebuild(run: RunContext, request: RunRequest, *, lost_race: bool = False) -> Ended:
    """Take everything in again into a new generation, and seal it as one increment.

    Tried again, it goes on where it was: the generation is the run's.

    Args:
        request: Who asked and why, which files are not to count any more, whether it is enough to
            say what is lost, and whether that was accepted.
        lease: The caller's lease, which blocks other publishers; None where live runs continue.
        lost_race: Whether it was sealed before, and something went out since.

    Raises:
        InputLost: rows would be gone for good, and no person has accepted it.
        NotCovered: today's spec does not read what was published.
        NothingToRebuild: there is nothing to replace, or nothing to read.
    """
    pipeline, layout = run.pipeline, run.pipeline.layout
    own = read_run_increment(layout.run(run.run_id))
    if own is not None and not lost_race:
        return Ended(Outcome.DONE, f"computed already: increment {own:06d}", {"increment": own})
    if not pipeline.spec.published:
        raise NothingToRebuild(
            f"{pipeline.name} writes to a sink of Spark's own, which nothing can be replaced in.",
            remedy="Start over under another pipeline name.",
            pipeline=pipeline.name,
        )
    refuse_lost_batch_times(pipeline, "rebuild")
    if request.dry_run:
        lost = gone(pipeline, _missing(pipeline, _excludes(pipeline, request), None))
        return Ended(Outcome.DONE, f"no longer held: {lost or 'nothing'}", {"lost": lost.as_dict()})
    while True:
        built, lost = _built(run, request)
        with leased(run, "ingest") as held:
            if build_of_run(pipeline, "rebuild", run.run_id) != built:
                run.log("something was rejected or reinstated meanwhile: beginning again")
                continue
            late = _prove_covered(run, request, built)
            number, rows = _seal(held, request, built)
        lost = lost if lost else late
        whole = f"{counted(rows, 'row')} of everything"
        reason = f"{built.generation} holds {whole}, as increment {number:06d}"
        facts = {"increment": number, "generation": built.generation, "rows": rows}
        return Ended(Outcome.DONE, reason, {**facts, "lost": lost.as_dict()})


def _built(run: RunContext, request: RunRequest) -> tuple[GenerationBuild, InputPart]:
    """The run's generation, after it has taken in what is there, and what is there no longer."""
    pipeline = run.pipeline
    built = build_of_run(pipeline, "rebuild", run.run_id)
    excludes = _excludes(pipeline, request) if built is None else built.excludes
    lost = gone(pipeline, _missing(pipeline, excludes, built))
    if lost:
        run.log(f"the sources no longer hold {lost}")
    _accepted(pipeline, request, lost)
    built = built or begin_build(pipeline, "rebuild", run.run_id, excludes)
    fill_generation(run, built)
    return built, lost


def _prove_covered(run: RunContext, request: RunRequest, built: GenerationBuild) -> InputPart:
    """Prove under the lease that it has read what was published; what of that is gone."""
    pipeline = run.pipeline
    missing = _missing(pipeline, built.excludes, built)
    if missing:
        # Published since it was read.
        fill_generation(run, built)
        missing = _missing(pipeline, built.excludes, built)
    late = gone(pipeline, missing)
    _accepted(pipeline, request, late)
    if rest := missing.without(late):
        raise NotCovered(
            f"Today's spec of {pipeline.name} does not read what was published: {rest}.",
            remedy="Let its sources name it again; to leave files out, name them with --exclude.",
            missing=rest.as_dict(),
        )
    return late


def _excludes(pipeline: Pipeline, request: RunRequest) -> tuple[InputFile, ...]:
    latest = Ledger(pipeline.layout, current(pipeline.layout)).latest()
    return tuple(files_read(pipeline, 0, latest, request.exclude))


def _missing(
    pipeline: Pipeline, excludes: tuple[InputFile, ...], built: GenerationBuild | None
) -> InputPart:
    """The published input that a new generation has not read; all of it if it does not exist."""
    snapshot = Snapshot(pipeline.layout)
    but = excluded(snapshot)
    published, _ = published_input(
        snapshot, snapshot.generation, replace(but, files=but.files.union(excludes))
    )
    return published if built is None else unread(pipeline.layout, built.generation, published)


def _seal(run: LeasedRun, request: RunRequest, built: GenerationBuild) -> tuple[int, int]:
    """Seal all of a generation as what replaces the table; its number and rows."""
    pipeline, layout = run.pipeline, run.pipeline.layout
    batches = Ledger(layout, built.generation).batches()
    if not batches:
        raise NothingToRebuild(
            f"The sources of {pipeline.name} hold nothing.",
            remedy="Let something arrive there; the table stays as it is.",
            pipeline=pipeline.name,
        )
    own = read_run_increment(layout.run(run.run_id))
    snapshot = Snapshot(layout)
    recomputation = describe(
        pipeline,
        request,
        "rebuild",
        BatchRange(generation=built.generation, first=0, last=batches[-1].batch),
        snapshot.last_seq,
        partitions=Partitions(),
        # The live generation's increments are superseded only when this one goes out.
        supersedes=() if own is None else (own,),
        excludes=built.excludes,
    )
    building = replace(pipeline, generation=built.generation)
    number = seal_batches(replace(run, pipeline=building), snapshot, batches, recomputation)
    note(run, number)
    return number, sum(batch.rows for batch in batches)


def _accepted(pipeline: Pipeline, request: RunRequest, lost: InputPart) -> None:
    """Stop where input is lost whose loss no person accepted."""
    if not lost or request.accept_loss:
        return
    raise InputLost(
        f"What {pipeline.name} has published its sources no longer hold: {lost}. A rebuild would "
        "lose its rows.",
        remedy="Bring it back, from an archive or a backup; or accept it: "
        f"tidemill rebuild {pipeline.name} --accept-loss --reason TEXT.",
        lost=lost.as_dict(),
    )
