"""What a person wants made again: whole partitions of a table, or all rows of some batches.

Rows are computed from what the ledger says was read, less what does not count, into a generation of
their own, whose name nobody knows before its one batch stands in its ledger: a driver that dies
leaves files that no reader, gate or publish step ever meets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.engine.intervals import Extent
from spark_jobs.engine.prefix import Inputs, inputs_of, read_prefix, reads_of
from spark_jobs.engine.progress import of_spark
from spark_jobs.engine.query import Plan, plan, plan_rows
from spark_jobs.engine.rows import REJECT
from spark_jobs.engine.scratch import scratch, write_down, write_rows
from spark_jobs.engine.static import read_statics
from spark_jobs.ledger.excluded import Excluded, excluded
from spark_jobs.ledger.made import Made, Place
from spark_jobs.ledger.partitions import Partitions
from spark_jobs.ledger.static_pin import StaticPin

Say = Callable[[str], None]
Keep = Callable[[DataFrame], DataFrame]


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
    layout = pipeline.layout
    reads = reads_of(layout, made.generation, made.first, made.last, without(pipeline, made))
    pins = reads[-1].batch.static
    with _pinned(pipeline, pins) as (today, where):
        planned = _planned(session, pipeline, today, where)
        inputs = inputs_of(pipeline, reads)
        place = scratch(made)
        keep = keeping(extent.partitions if extent is not None else None)
        try:
            rows = _rows(session, pipeline, inputs, today, where)
            write_rows(keep(rows.rows), rows, pipeline, place)
            inputs.prove()
        except PySparkException as error:
            raise of_spark(error) from error
    batch = write_down(pipeline, planned, made, place, reads, run_id, epoch)
    return Recomputed(
        place=place,
        made=made,
        rows=batch.rows,
        rejected=batch.rejected,
        inputs=inputs.count,
        input_bytes=inputs.bytes,
        input_rows=inputs.rows,
        skipped=0,
    )


def without(pipeline: Pipeline, made: Made) -> Excluded:
    """What does not count in a computation.

    Args:
        pipeline: Whose.
        made: One that reinstates reads what its increments read; what it excludes itself is out.
    """
    known = excluded(pipeline.layout)
    if made.by_way_of == "reinstate":
        known = Excluded()
    return Excluded(known.files | set(made.excludes), known.ranges)


def keeping(partitions: Partitions | None) -> Keep:
    """The cut to whole partitions, for good and rejected rows as the sink gets them.

    Args:
        partitions: None, or those of the whole table, for all rows. Else rejected rows without a
            partition are left out.
    """
    if partitions is None or partitions.everything:
        return lambda rows: rows
    columns, values = partitions.columns, [*partitions.values]

    def keep(rows: DataFrame) -> DataFrame:
        good = _in([F.col(f"`{name}`").cast("string") for name in columns], values)
        would = [F.col(f"{REJECT}.partition").getItem(name) for name in columns]
        refused = F.col(REJECT).isNotNull()
        return rows.where(F.when(refused, _in(would, values)).otherwise(good))

    return keep


def _in(columns: list[Column], values: list[tuple[str, ...]]) -> Column:
    if len(columns) == 1:
        found = columns[0].isin([value[0] for value in values])
    else:
        wanted = [F.struct(*map(F.lit, value)) for value in values]
        found = F.struct(*columns).isin(wanted)
    return F.coalesce(found, F.lit(False))


@contextmanager
def _pinned(
    pipeline: Pipeline, then: Mapping[str, StaticPin]
) -> Iterator[tuple[dict[str, StaticPin], Path | None]]:
    """Pins of every static input of today's spec, and where the copies of new ones lie."""
    yield dict(then), None


def _planned(
    session: SparkSession, pipeline: Pipeline, pins: Mapping[str, StaticPin], place: Path | None
) -> Plan:
    """The query as a stream, which alone says of what class it is."""
    try:
        return plan(session, pipeline, read_statics(session, pipeline, pins, place))
    except PySparkException as error:
        raise of_spark(error) from error


def _rows(
    session: SparkSession,
    pipeline: Pipeline,
    inputs: Inputs,
    today: Mapping[str, StaticPin],
    place: Path | None,
) -> Plan:
    """The rows of inputs, each part of them with the static inputs that it was read with."""
    parts = []
    for pins, part in inputs.by_pins(pipeline.spec.statics):
        statics = read_statics(session, pipeline, {**today, **pins}, place)
        parts.append(plan_rows(read_prefix(session, pipeline, part), pipeline, statics))
    first = parts[0]
    rows = reduce(DataFrame.unionByName, [part.rows for part in parts])
    return Plan(rows, first.table_schema, first.pipeline_class, first.state_encoding)
