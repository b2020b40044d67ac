"""Generations that are being built: named at once, by one document each, and live only when born.

What nobody finished is never live: it lies there until its run is retried, or for ever.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from spark_jobs.contract.layout import FIRST_GENERATION, Layout
from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.ledger import documents
from spark_jobs.ledger.excluded import Excluded, excluded
from spark_jobs.ledger.generations import births, generation_of, next_generation
from spark_jobs.ledger.input_file import InputFile

LIVE = "live-"


class Construction(BaseModel):
    """A generation that a run builds.

    Attributes:
        generation: Its name, which no other has or had.
        run_id: Of the run; its retries go on with it.
        excludes: Files that it leaves out beside those that do not count already.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    generation: str
    kind: Literal["fork", "rebuild"]
    run_id: str
    excludes: tuple[InputFile, ...] = ()
    began: datetime


def constructions(layout: Layout) -> list[Construction]:
    """Every generation but the first that somebody began to build, in order."""
    paths = sorted(layout.generations.glob(f"{LIVE}*.json"))
    found = (documents.read(path, Construction) for path in paths)
    return [one for one in found if one is not None]


def unfinished(layout: Layout) -> list[Construction]:
    """Those that were not born, or not yet."""
    born = {birth.generation for birth in births(layout.home)}
    return [one for one in constructions(layout) if one.generation not in born]


def construct(
    layout: Layout,
    kind: Literal["fork", "rebuild"],
    run_id: str,
    excludes: Sequence[InputFile] = (),
) -> Construction:
    """What a run builds: what it began at an earlier try, or a new name.

    Args:
        layout: Of the pipeline.
        kind: Of the generation.
        run_id: Of the run.
        excludes: Files to leave out; those of the first try stay.
    """
    while True:
        own = [one for one in constructions(layout) if one.run_id == run_id and one.kind == kind]
        if own:
            return own[-1]
        began = Construction(
            generation=next_generation(layout),
            kind=kind,
            run_id=run_id,
            excludes=tuple(excludes),
            began=datetime.now(UTC),
        )
        documents.put_if_absent(layout.generations / f"{began.generation}.json", began)


def clear_away(layout: Layout, built: Construction) -> None:
    """Remove what an earlier try left of a generation that was not born; under the lease."""
    if built not in unfinished(layout):
        return
    name = built.generation
    layout.note(name).unlink(missing_ok=True)
    for folder in (layout.checkpoint(name), layout.ledger(name), layout.sink(name)):
        shutil.rmtree(folder, ignore_errors=True)


def left_out(pipeline: Pipeline) -> Excluded:
    """The input that a query passes over, though its sources hold it.

    The first generation has read what was excluded before it was; only those that read input again
    meet it again.

    Args:
        pipeline: Whose query; of a generation under construction with what that leaves out too.
    """
    generation = generation_of(pipeline)
    if generation == FIRST_GENERATION or not generation.startswith(LIVE):
        return Excluded()
    known = excluded(pipeline.layout)
    own = [one for one in unfinished(pipeline.layout) if one.generation == generation]
    files = {file for one in own for file in one.excludes}
    return Excluded(known.files | files, known.ranges)
