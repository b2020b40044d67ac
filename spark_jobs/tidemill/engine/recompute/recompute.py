"""Recomputes whole partitions of a table, or all rows of some batches.

Rows are computed from what the ledger says was read, less what does not count, into a generation of
their own, whose name is unknown until its one batch is in its ledger: a driver that dies
leaves files that no reader, gate or publish step ever meets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.engine.query.build import plan, plan_rows
from tidemill.engine.query.planned_query import Plan
from tidemill.engine.query.windows import windows_of
from tidemill.engine.recompute.finality import times_of_rows
from tidemill.engine.recompute.intervals import Extent
from tidemill.engine.recompute.lateness_bound import bounded_reads
from tidemill.engine.recompute.moved_rows import origins_to_replace
from tidemill.engine.recompute.partition_filter import partition_filter
from tidemill.engine.recompute.past_static_inputs import StaticsOf, past_statics
from tidemill.engine.recompute.published_input import (
    Inputs,
    Read,
    inputs_of,
    read_prefix,
    reads_of,
    with_batch_times,
)
from tidemill.engine.recompute.scratch_generation import files_in, record_batch, scratch, write_rows
from tidemill.engine.recompute.strategy import can_recompute_in_batch
from tidemill.engine.spark_errors import from_spark
from tidemill.increments.exclusions import without
from tidemill.journal.journal import Journal
from tidemill.journal.recomputation import BatchRange, Recomputation
from tidemill.ledger.ledger import Ledger, OutputFile
from tidemill.sources.kinds import open_sources
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.erasures import newest_erasure
from tidemill.storage.folders import remove_folder
from tidemill.storage.run_context import RunContext


class OutsidePrefix(Refused):
    """Nothing that was read is in some partitions; carries `partitions`."""


@dataclass(frozen=True)
class Recomputed:
    """The recomputed rows.

    Args:
        place: The scratch generation and its one batch.
        recomputation: As asked for, with `replaces_rejects_of` filled in.
        rejected: Rejected ones.
        inputs: Files and ranges of records that were read.
        input_rows: Rows read; None where the ledger does not know.
        skipped: Inputs that the lateness bound let it pass over.
        erasure: The newest erasure when it began; 0 for none.
    """

    place: BatchRange
    recomputation: Recomputation
    rows: int
    rejected: int
    inputs: int
    input_bytes: int
    input_rows: int | None
    skipped: int
    erasure: int = 0


def recompute(
    session: SparkSession, run: RunContext, recomputation: Recomputation, extent: Extent | None
) -> Recomputed:
    """Compute again what a person asked for.

    Args:
        recomputation: A backfill computes the rows of its partitions over the input of batches 0 to
            `made.last`; a redo or a reinstatement all rows of batches `made.first` to `made.last`.
        extent: The extent of a backfill's partitions; None for whole batches.

    Raises:
        Refused: it cannot be computed, or not yet; the remedy says what can be done.
        QueryFailed: the same error will come again.
    """
    erasure = newest_erasure(run.layout.home)
    done = compute(session, run, recomputation, extent)
    batch = record_batch(run, done.planned, recomputation, done.place, done.inputs.reads)
    return Recomputed(
        place=done.place,
        recomputation=recomputation.model_copy(
            update={"replaces_rejects_of": done.replaces_rejects_of}
        ),
        rows=batch.rows,
        rejected=batch.rejected,
        inputs=done.inputs.count,
        input_bytes=done.inputs.bytes,
        input_rows=done.inputs.rows,
        skipped=done.skipped,
        erasure=erasure,
    )


@dataclass(frozen=True)
class Computed:
    """Rows that are in a scratch generation's sink, and nowhere else yet.

    Args:
        inputs: What was read.
        skipped: Inputs that the lateness bound let it pass over.
        replaces_rejects_of: Origins whose rejected rows without a partition were computed again
            too.
        files: What is there.
    """

    place: BatchRange
    planned: Plan
    inputs: Inputs
    skipped: int
    replaces_rejects_of: tuple[str, ...] | None
    files: tuple[OutputFile, ...]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files if not file.rejected)

    @property
    def rejected(self) -> int:
        return sum(file.rows for file in self.files if file.rejected)


def compute(
    session: SparkSession, run: RunContext, recomputation: Recomputation, extent: Extent | None
) -> Computed:
    """Compute the rows, without any document that names them; as for `recompute`."""
    pipeline, place = run.pipeline, scratch(recomputation)
    sink = pipeline.layout.sink(place.generation)
    out = without(pipeline.layout, recomputation)
    first, last = recomputation.first, recomputation.last
    found = reads_of(pipeline.layout, recomputation.generation, first, last, out)
    reads = with_batch_times(found, pipeline.spec)
    try:
        with past_statics(session, run, reads[-1].batch) as statics:
            return _compute(session, run, recomputation, extent, reads, place, statics)
    except BaseException as error:
        remove_folder(sink, missing_ok=True)
        if isinstance(error, PySparkException):
            raise from_spark(error) from error
        raise


def _compute(
    session: SparkSession,
    run: RunContext,
    recomputation: Recomputation,
    extent: Extent | None,
    reads: Sequence[Read],
    place: BatchRange,
    statics: StaticsOf,
) -> Computed:
    pipeline = run.pipeline
    planned = plan(session, pipeline, statics({}))
    by_batch = can_recompute_in_batch(pipeline, planned, reads, extent)
    skipped = 0
    if by_batch and extent is not None:
        reads, skipped = _within_bound(run, planned, reads, extent)
    inputs = inputs_of(pipeline, reads)
    for source in open_sources(pipeline):
        source.verify_held(recomputation.generation, inputs.ranges_of(source.name))
    boundless = by_batch and extent is not None and pipeline.spec.backfill.lateness is None
    run.log(_what_is_read(inputs, skipped, boundless=boundless))
    origins, keep = None, partition_filter(None)
    if extent is not None:
        origins = origins_to_replace(session, pipeline, inputs, extent)
        keep = partition_filter(extent.partitions, origins or ())
    if by_batch:
        # Each part with the static inputs that it was read with.
        for pins, part in inputs.by_pins(pipeline.spec.statics):
            read = read_prefix(session, pipeline, part)
            rows = plan_rows(read, pipeline, statics(pins))
            write_rows(keep(rows.rows), rows, pipeline, place)
        inputs.prove()
    else:
        for source in open_sources(pipeline):
            version = recomputation.tables.get(source.name, -1)
            source.refuse_replay(inputs.ranges_of(source.name), version)
        from tidemill.engine.recompute.replay import replay

        replay(session, run, recomputation, place, keep)
    done = Computed(place, planned, inputs, skipped, origins, files_in(pipeline, place))
    # What is due and empty has to be known as computed, so that it is not due for ever.
    empty = not done.rows and not done.rejected and not recomputation.tables
    if extent is not None and empty:
        _refuse_outside(pipeline, extent)
    return done


def _within_bound(
    run: RunContext, planned: Plan, reads: Sequence[Read], extent: Extent
) -> tuple[Sequence[Read], int]:
    """The inputs to read under the spec's bound of lateness, and the number left out."""
    lateness = run.pipeline.spec.backfill.lateness
    times = times_of_rows(extent, windows_of(planned.rows))
    if lateness is None or times is None:
        return reads, 0
    # What a window gave out came of batches before, not of the one that wrote it.
    by_row = planned.pipeline_class is PipelineClass.MAP
    bounded = bounded_reads(reads, times, lateness, extent.partitions if by_row else None)
    if bounded.late:
        run.log(
            f"warning: batches {', '.join(map(str, bounded.late))} wrote rows of "
            f"{extent.partitions} though nothing they read arrived within backfill.lateness; "
            "they are read too"
        )
    return bounded.reads, bounded.skipped


def _what_is_read(inputs: Inputs, skipped: int, *, boundless: bool) -> str:
    left = "all that counts"
    if skipped:
        left = f"{counted(skipped, 'other')} arrived outside of backfill.lateness"
    elif boundless:
        left = "all that counts; backfill.lateness would bound it"
    return f"reading {counted(inputs.count, 'input')} of {counted(inputs.bytes, 'byte')}: {left}"


def _refuse_outside(pipeline: Pipeline, extent: Extent) -> None:
    layout = pipeline.layout
    # Not only what batches wrote: a backfill or a redo by other code may have put rows there.
    places = [
        event.stored_in for event in Journal(layout.journal).events() if event.kind != "reject"
    ]
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
