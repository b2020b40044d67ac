"""Generations under construction: each has a document from the start, and is live once done.

An unfinished build never becomes live. Its files stay until its run is retried.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from pydantic import AliasChoices, Field

from tidemill.contract.clock import wall_clock
from tidemill.contract.document import Document
from tidemill.contract.errors import Refused
from tidemill.contract.layout import FIRST_GENERATION, Layout
from tidemill.increments.exclusions import Excluded, excluded
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import (
    Takeover,
    generation_of,
    next_generation,
    read_takeovers,
    rolled_over,
)
from tidemill.ledger.generation_note import hash_of_file, hash_of_spec
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.run_kinds import GenerationKind
from tidemill.spec.pipeline import Pipeline
from tidemill.storage import documents
from tidemill.storage.erasures import unfinished_erasure
from tidemill.storage.folders import remove_folder

LIVE = "live-"


class BatchTimeLost(Refused):
    """A new generation would give rows the time of the run that builds it; carries `statics`."""


class GenerationBuild(Document):
    """A generation that a run builds.

    Attributes:
        generation: Its name, which no other has or had.
        run_id: The run id of the run; its retries go on with it.
        excludes: Files that it leaves out beside those that do not count already.
        spec_hash: The spec hash of the spec that all of it is made with.
        excluded_hash: The hash of what did not count already; with another it is another
            generation, for what it has read it cannot give back.
        epoch: Epoch of the pipeline's lease; 0 where its writer did not hold it.
    """

    generation: str
    kind: GenerationKind
    run_id: str
    excludes: tuple[InputFile, ...] = ()
    spec_hash: str
    code_hash: str
    excluded_hash: str = Field(validation_alias=AliasChoices("excluded_hash", "left_out"))
    began: datetime
    epoch: int = 0


def generation_builds(layout: Layout) -> list[GenerationBuild]:
    """Every generation but the first that somebody began to build, in order."""
    paths = sorted(layout.generations.glob(f"{LIVE}*.json"))
    found = (documents.read(path, GenerationBuild) for path in paths)
    return [one for one in found if one is not None]


def unfinished_builds(layout: Layout) -> list[GenerationBuild]:
    """The builds that have not become live."""
    born = {takeover.generation for takeover in read_takeovers(layout.home)}
    return [one for one in generation_builds(layout) if one.generation not in born]


def newest_builds(layout: Layout) -> list[GenerationBuild]:
    """The last build that each run has begun, if it is not live; earlier ones are abandoned."""
    last = {one.run_id: one for one in generation_builds(layout)}
    return [one for one in unfinished_builds(layout) if one in last.values()]


def takeover_of_run(layout: Layout, run_id: str) -> Takeover | None:
    """The generation that a run has brought already."""
    built = {one.generation for one in generation_builds(layout) if one.run_id == run_id}
    return next(
        (takeover for takeover in read_takeovers(layout.home) if takeover.generation in built), None
    )


def refuse_lost_batch_times(pipeline: Pipeline, kind: GenerationKind) -> None:
    """Refuse to build a generation whose rows would get another batch's time than they had.

    It takes input in by batches of its own, which are not those that brought the rows in.

    Args:
        kind: The kind of generation.

    Raises:
        BatchTimeLost: the spec has a static input of the kind `batch`, and is to give the same
            rows each time.
    """
    names = pipeline.spec.batch_statics
    if not names or not pipeline.spec.deterministic:
        return
    command = "redo with state" if kind == "fork" else kind
    raise BatchTimeLost(
        f"A {command} of {pipeline.name} reads input in other batches, so that statics.{names[0]} "
        "would give its rows the time of this run, and not that of the run that took them in.",
        remedy="Recompute the partitions: "
        f"tidemill backfill {pipeline.name} --from DAY --to DAY. To accept new times, set "
        f"deterministic: false in {pipeline.spec_file}.",
        statics=list(names),
    )


def begin_build(
    pipeline: Pipeline,
    kind: GenerationKind,
    run_id: str,
    excludes: Sequence[InputFile] = (),
    epoch: int = 0,
) -> GenerationBuild:
    """What a run builds: what it began at an earlier try with the same code, or a new name.

    Args:
        excludes: Files to leave out; those of the first try stay.
        epoch: Epoch of the pipeline's lease; 0 where the run does not hold it.
    """
    layout = pipeline.layout
    while True:
        own = build_of_run(pipeline, kind, run_id)
        if own is not None:
            return own
        began = GenerationBuild(
            generation=next_generation(layout),
            kind=kind,
            run_id=run_id,
            excludes=tuple(excludes),
            spec_hash=hash_of_spec(pipeline.spec),
            code_hash=hash_of_file(pipeline.transform_file),
            excluded_hash=hash_of_excluded(excluded(Snapshot(layout))),
            began=wall_clock(),
            epoch=epoch,
        )
        documents.put_if_absent(layout.generations / f"{began.generation}.json", began)


def build_of_run(pipeline: Pipeline, kind: GenerationKind, run_id: str) -> GenerationBuild | None:
    """The build that a run has begun with today's spec, code and exclusions."""
    own = [
        one
        for one in generation_builds(pipeline.layout)
        if (one.kind, one.run_id) == (kind, run_id)
    ]
    if not own:
        return None
    code = (hash_of_spec(pipeline.spec), hash_of_file(pipeline.transform_file))
    today = (*code, hash_of_excluded(excluded(Snapshot(pipeline.layout))))
    same = (one for one in own if (one.spec_hash, one.code_hash, one.excluded_hash) == today)
    return next(same, None)


def hash_of_excluded(found: Excluded) -> str:
    """The hash of the input that does not count, in a fixed order."""
    files = sorted(file.model_dump_json() for file in found.files)
    ranges = sorted(
        f"{name}\0{one.model_dump_json()}"
        for name, of in (found.ranges or {}).items()
        for one in of
    )
    return hashlib.sha256("\n".join([*files, *ranges]).encode()).hexdigest()


def builds_of_erasure(layout: Layout) -> list[GenerationBuild]:
    """What an erasure that is not finished has begun to build, or has built."""
    erasure = unfinished_erasure(layout.home)
    # Each step asks, and mostly there is none.
    if erasure is None:
        return []
    return [one for one in generation_builds(layout) if one.run_id == erasure.run_id]


def built_by_erasure(layout: Layout, generation: str) -> bool:
    """Whether a generation that is not live is one that an unfinished erasure builds."""
    own = [one for one in builds_of_erasure(layout) if one.generation == generation]
    return bool(own) and own[0] in unfinished_builds(layout)


def lease_of(layout: Layout, built: GenerationBuild) -> Path:
    """The lease of whoever builds it, beside which live runs go on under the pipeline's own."""
    return layout.generations / f"{built.generation}.lease"


def clear_away(layout: Layout, built: GenerationBuild) -> None:
    """Remove what an earlier try left of a generation that was not born; under the lease."""
    if built not in unfinished_builds(layout):
        return
    name = built.generation
    layout.note(name).unlink(missing_ok=True)
    for folder in (layout.checkpoint(name), layout.ledger(name), layout.sink(name)):
        remove_folder(folder, missing_ok=True)


def left_out(pipeline: Pipeline) -> Excluded:
    """The input that a query passes over, though its sources hold it.

    The first generation has read what was excluded before it was; only those that read input again
    meet it again.
    """
    generation = rolled_over(pipeline.layout, generation_of(pipeline))
    if generation == FIRST_GENERATION or not generation.startswith(LIVE):
        return Excluded()
    known = excluded(Snapshot(pipeline.layout))
    own = [one for one in unfinished_builds(pipeline.layout) if one.generation == generation]
    files = {file for one in own for file in one.excludes}
    return Excluded(known.files | files, known.ranges)
