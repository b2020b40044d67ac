"""What a person wants made again: whole partitions of a table, or all rows of some batches.

Rows are computed from what the ledger says was read, less what does not count, into a generation of
their own, whose name nobody knows before its one batch stands in its ledger: a driver that dies
leaves files that no reader, gate or publish step ever meets.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contract.errors import Refused
from spark_jobs.contract.layout import Layout
from spark_jobs.contract.output import OutputMode
from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.contract.pipeline_class import PipelineClass
from spark_jobs.engine.arrival import arrived
from spark_jobs.engine.cut import keeping
from spark_jobs.engine.finality import (
    joins_streams,
    refuse_not_final,
    times_of_rows,
    windows_of,
)
from spark_jobs.engine.intervals import Extent
from spark_jobs.engine.moved import moved
from spark_jobs.engine.pinned import StaticsOf, statics_then
from spark_jobs.engine.prefix import Inputs, Read, inputs_of, read_prefix, reads_of
from spark_jobs.engine.progress import of_spark
from spark_jobs.engine.query import Plan, plan, plan_rows
from spark_jobs.engine.scratch import files_in, scratch, write_down, write_rows
from spark_jobs.ledger.batches import Ledger, OutputFile
from spark_jobs.ledger.excluded import Excluded, excluded
from spark_jobs.ledger.journal import Journal
from spark_jobs.ledger.made import Made, Place

Say = Callable[[str], None]


class Unbounded(Refused):
    """Nothing but a rebuild computes such a pipeline's rows again; carries `pipeline_class`."""


class KeepsState(Refused):
    """Batches of a pipeline with state cannot be computed again alone; carries `pipeline`."""


class OutsidePrefix(Refused):
    """Nothing that was read lies in some partitions; carries `partitions`."""


@dataclass(frozen=True)
class Recomputed:
    """What was computed again.

    Args:
        place: The scratch generation and its one batch.
        made: As asked for, with `forgets` filled in.
        rows: Good ones.
        rejected: Rejected ones.
        inputs: Files and ranges of records that were read.
        input_bytes: Of the files.
        input_rows: Rows read; None where the ledger does not know.
        skipped: Inputs that the lateness bound let it pass over.
    """

    place: Place
    made: Made
    rows: int
    rejected: int
    inputs: int
    input_bytes: int
    input_rows: int | None
    skipped: int


def recompute(
    session: SparkSession,
    pipeline: Pipeline,
    made: Made,
    extent: Extent | None,
    run_id: str,
    epoch: int,
    say: Say,
) -> Recomputed:
    """Compute again what a person asked for.

    Args:
        session: Of the pipeline.
        pipeline: Whose rows.
        made: A backfill computes the rows of its partitions over the input of batches 0 to
            `made.last`; a redo or a reinstatement all rows of batches `made.first` to `made.last`.
        extent: Of a backfill's partitions; None for whole batches.
        run_id: Of the run.
        epoch: Of the lease, or 0 where the caller holds none.
        say: Gets lines about progress.

    Raises:
        Refused: it cannot be computed, or not yet; the remedy says what can be done.
        QueryFailed: the same error will come again.
    """
    done = compute(session, pipeline, made, extent, say)
    batch = write_down(pipeline, done.planned, made, done.place, done.inputs.reads, run_id, epoch)
    return Recomputed(
        place=done.place,
        made=made.model_copy(update={"forgets": done.forgets}),
        rows=batch.rows,
        rejected=batch.rejected,
        inputs=done.inputs.count,
        input_bytes=done.inputs.bytes,
        input_rows=done.inputs.rows,
        skipped=done.skipped,
    )


@dataclass(frozen=True)
class Computed:
    """Rows that lie in a scratch generation's sink, and nowhere else yet.

    Args:
        place: The scratch generation.
        planned: The query as a stream.
        inputs: What was read.
        skipped: Inputs that the lateness bound let it pass over.
        forgets: Origins whose rejected rows without a partition were computed again too.
        files: What lies there.
    """

    place: Place
    planned: Plan
    inputs: Inputs
    skipped: int
    forgets: tuple[str, ...] | None
    files: tuple[OutputFile, ...]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files if not file.rejected)

    @property
    def rejected(self) -> int:
        return sum(file.rows for file in self.files if file.rejected)


def compute(
    session: SparkSession, pipeline: Pipeline, made: Made, extent: Extent | None, say: Say
) -> Computed:
    """Compute the rows, without any document that names them; as for `recompute`."""
    place = scratch(made)
    sink = pipeline.layout.sink(place.generation)
    out = without(pipeline.layout, made)
    reads = reads_of(pipeline.layout, made.generation, made.first, made.last, out)
    try:
        with statics_then(session, pipeline, reads[-1].batch, say) as statics:
            return _compute(session, pipeline, made, extent, reads, place, statics, say)
    except BaseException as error:
        shutil.rmtree(sink, ignore_errors=True)
        if isinstance(error, PySparkException):
            raise of_spark(error) from error
        raise


def _compute(
    session: SparkSession,
    pipeline: Pipeline,
    made: Made,
    extent: Extent | None,
    reads: Sequence[Read],
    place: Place,
    statics: StaticsOf,
    say: Say,
) -> Computed:
    planned = plan(session, pipeline, statics({}))
    by_batch = _goes_by_batch(pipeline, planned, reads, extent)
    skipped = 0
    if by_batch and extent is not None:
        reads, skipped = _within_bound(pipeline, planned, reads, extent, say)
    inputs = inputs_of(pipeline, reads)
    _say_what_is_read(inputs, skipped, pipeline, say)
    forgets = None if extent is None else moved(session, pipeline, inputs, extent)
    keep = keeping(extent.partitions if extent is not None else None, forgets or ())
    if by_batch:
        rows = _rows(session, pipeline, inputs, statics)
        write_rows(keep(rows.rows), rows, pipeline, place)
        inputs.prove()
    else:
        from spark_jobs.engine.replay import replay

        replay(session, pipeline, made, place, keep, say)
    done = Computed(place, planned, inputs, skipped, forgets, files_in(pipeline, place))
    if extent is not None and not done.rows and not done.rejected:
        _refuse_outside(pipeline, extent)
    return done


def _goes_by_batch(
    pipeline: Pipeline, planned: Plan, reads: Sequence[Read], extent: Extent | None
) -> bool:
    """Whether one batch job gives the same rows as the stream; else it has to be replayed.

    Raises:
        Refused: neither does, or not yet.
    """
    found = planned.pipeline_class
    if found is PipelineClass.MAP:
        return True
    if found is PipelineClass.UNBOUNDED or pipeline.spec.output.mode is OutputMode.COMPLETE:
        raise Unbounded(
            f"{pipeline.name} counts what nothing ever closes: its rows cannot be computed again "
            "for a part of the table.",
            remedy=f"Compute all of it again: tidemill rebuild {pipeline.name}.",
            pipeline=pipeline.name,
            pipeline_class=str(found),
        )
    if extent is None:
        raise KeepsState(
            f"{pipeline.name} keeps state between batches, so that some of them cannot be computed "
            "again alone.",
            remedy="Go on from the last published batch: tidemill redo, which forks.",
            pipeline=pipeline.name,
        )
    pins = {tuple(sorted((n, p.identity) for n, p in r.batch.static.items())) for r in reads}
    if found is PipelineClass.ORDERED or joins_streams(planned.rows) or len(pins) > 1:
        return False
    if extent.partitions.everything:
        # Windows of it are open at any time; a replay gives out those that are closed.
        return False
    windows = windows_of(planned.rows)
    refuse_not_final(pipeline, extent, windows, reads[-1].batch.watermark_after_ms)
    return True


def _within_bound(
    pipeline: Pipeline, planned: Plan, reads: Sequence[Read], extent: Extent, say: Say
) -> tuple[Sequence[Read], int]:
    """What has to be read by the spec's bound of lateness, and how many inputs it leaves out."""
    lateness = pipeline.spec.backfill.lateness
    times = times_of_rows(extent, windows_of(planned.rows))
    if lateness is None or times is None:
        return reads, 0
    # What a window gave out came of batches before, not of the one that wrote it.
    by_row = planned.pipeline_class is PipelineClass.MAP
    found = arrived(reads, times, lateness, extent.partitions if by_row else None)
    if found.late:
        say(
            f"warning: batches {', '.join(map(str, found.late))} wrote rows of {extent.partitions} "
            "though nothing they read arrived within backfill.lateness; they are read too"
        )
    return found.reads, found.skipped


def _say_what_is_read(inputs: Inputs, skipped: int, pipeline: Pipeline, say: Say) -> None:
    if skipped:
        left = f"{skipped:,} others arrived outside of backfill.lateness"
    elif pipeline.spec.backfill.lateness is None:
        left = "all that counts; backfill.lateness would bound it"
    else:
        left = "all that counts"
    say(f"reading {inputs.count:,} inputs of {inputs.bytes:,} bytes: {left}")


def _refuse_outside(pipeline: Pipeline, extent: Extent) -> None:
    layout = pipeline.layout
    # Not only what batches wrote: a backfill or a redo by other code may have put rows there.
    places = [event.place for event in Journal(layout.journal).events() if event.kind != "reject"]
    wrote = any(
        file.rows and not file.rejected and extent.partitions.hold(file.partition)
        for place in places
        for batch in Ledger(layout, place.generation).batches(place.first, place.last)
        for file in batch.outputs
    )
    if not wrote:
        raise OutsidePrefix(
            f"Nothing of {extent.partitions} was ever published by {pipeline.name}, and nothing "
            "that it has read belongs there.",
            remedy="Check the interval, and its time zone; what has not arrived yet comes with the "
            "scheduled runs.",
            partitions=str(extent.partitions),
        )


def without(layout: Layout, made: Made) -> Excluded:
    """What does not count in a computation.

    Args:
        layout: Of the pipeline.
        made: What it excludes is out, and what it reinstates is not.
    """
    known = excluded(layout, made.reinstates)
    return Excluded(known.files | {*made.excludes}, known.ranges)


def _rows(session: SparkSession, pipeline: Pipeline, inputs: Inputs, statics: StaticsOf) -> Plan:
    """The rows of inputs, each part of them with the static inputs that it was read with."""
    parts = [
        plan_rows(read_prefix(session, pipeline, part), pipeline, statics(pins))
        for pins, part in inputs.by_pins(pipeline.spec.statics)
    ]
    rows = reduce(DataFrame.unionByName, [part.rows for part in parts])
    return replace(parts[0], rows=rows)
