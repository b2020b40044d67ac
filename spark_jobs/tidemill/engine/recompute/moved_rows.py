"""Rows that another way of reading moves to another partition, out of all, or into one.

A backfill replaces the rows of its partitions by what today's spec reads. A row that today is read
into another partition would be lost, one that comes from another would be there twice, and one that
did not parse would stand among the rejected rows too.
"""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemill.contract.errors import Refused
from tidemill.engine.query.reject import tag
from tidemill.engine.recompute.intervals import Extent
from tidemill.engine.recompute.partition_filter import is_one_of
from tidemill.engine.recompute.published_input import Inputs, Read, read_source
from tidemill.engine.sources.columns import ORIGIN
from tidemill.file_formats.reader import REJECT
from tidemill.journal.journal import Journal
from tidemill.journal.partition_set import Partitions
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.source_reading import RULES, Reading, readings_of, spec_as_read
from tidemill.spark_logs.partition_paths import NULL_PARTITION
from tidemill.spec.column_types import quoted
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.spec import Spec

POSITION = "_tidemill_position"
# Where a row belongs: a partition's values, or whether its time is among those of a window's.
THEN, NOW = "_tidemill_then", "_tidemill_now"
WITHIN, ELSEWHERE = "the interval", "other times"


class RowsMove(Refused):
    """Rows belong elsewhere than they did; carries `partitions`, those to compute again too."""


def origins_to_replace(
    session: SparkSession, pipeline: Pipeline, inputs: Inputs, extent: Extent
) -> tuple[str, ...] | None:
    """The origins whose rejected rows without a partition are computed again too.

    Args:
        inputs: All that is read.
        extent: The extent of the partitions that are computed again.

    Returns:
        None where every row is read as it was.

    Raises:
        RowsMove: rows leave these partitions, or come from others.
    """
    if extent.partitions.everything:
        return None
    spec = pipeline.spec
    today = readings_of(spec)
    rows, last = [], 0
    for readings, reads in _by_readings(inputs.reads):
        part = inputs.of(reads)
        for name in spec.sources:
            then = readings.get(name)
            if then is not None and not _same(then, today[name], extent):
                old = spec_as_read(spec, {name: then})
                rows.append(_both(session, pipeline, part, name, (old, spec), extent))
                last = max(last, *(read.batch.batch for read in reads))
    if not rows:
        return None
    compared = reduce(DataFrame.unionAll, rows).persist()
    try:
        named = [(place,) for place in _places(extent)]
        within = is_one_of([THEN], named) | is_one_of([NOW], named)
        nowhere = F.col(THEN).isNull() | F.col(NOW).isNull()
        origins = _texts(compared.where(within & nowhere), ORIGIN)
        touched = compared.where(within | F.col(ORIGIN).isin(origins))
        places = _texts(touched.select(F.explode(F.array(THEN, NOW)).alias("at")), "at")
    finally:
        compared.unpersist()
    settled = _settled(pipeline, last, extent)
    others = [place for place in places if place not in settled]
    if others:
        raise _rows_move(pipeline, extent, others)
    return tuple(origins) or None


def _texts(rows: DataFrame, column: str) -> list[str]:
    values = rows.where(F.col(column).isNotNull()).select(column).distinct().collect()
    return sorted(row[column] for row in values)


def _settled(pipeline: Pipeline, last: int, extent: Extent) -> set[str]:
    """The partitions that hold what today's reading makes of all that was read otherwise.

    Args:
        last: The last batch that was read otherwise.
        extent: The extent of the partitions that are computed again, which will hold it.
    """
    settled = _places(extent)
    layout, today = pipeline.layout, readings_of(pipeline.spec)
    for event in Journal(layout.journal).events():
        recomputation = event.recomputation
        if recomputation is None or recomputation.partitions is None or event.kind != "swap":
            continue
        starts = Ledger(layout, event.stored_in.generation).starts()
        alike = bool(starts) and starts[-1].readings == today
        if recomputation.partitions.columns == extent.partitions.columns and not extent.of_windows:
            swapped = _named(recomputation.partitions)
            settled = (
                settled | swapped if alike and recomputation.last >= last else settled - swapped
            )
    return settled | _places(extent)


def _places(extent: Extent) -> set[str]:
    """Where the rows are that are computed again, as `THEN` and `NOW` name it."""
    return {WITHIN} if extent.of_windows else _named(extent.partitions)


def _named(partitions: Partitions) -> set[str]:
    return {"/".join(value) for value in partitions.values}


def _by_readings(reads: Sequence[Read]) -> list[tuple[dict[str, Reading], list[Read]]]:
    """Batches by how they were read."""
    starts = {read.ledger.generation: read.ledger.starts() for read in reads}
    groups: dict[str, tuple[dict[str, Reading], list[Read]]] = {}
    for read in reads:
        if read.inputs:
            known = starts[read.ledger.generation]
            readings = next((s.readings for s in known if s.epoch == read.batch.start), {})
            groups.setdefault(repr(readings), (readings, []))[1].append(read)
    return [*groups.values()]


def _same(then: Reading, now: Reading, extent: Extent) -> bool:
    if extent.of_windows:
        # A rejected row has no window, so that whether a rule rejects it moves it too.
        return then == now
    return {**then, RULES: None} == {**now, RULES: None}


def _both(
    session: SparkSession,
    pipeline: Pipeline,
    inputs: Inputs,
    name: str,
    specs: tuple[Spec, Spec],
    extent: Extent,
) -> DataFrame:
    """The rows of one source that belong elsewhere than they did: origin, then and now."""
    sides = []
    for spec, place in zip(specs, (THEN, NOW), strict=True):
        read = read_source(session, pipeline, inputs, name, spec.sources[name])
        # The same files in the same order are cut in the same places.
        read = read.withColumn(POSITION, F.monotonically_increasing_id())
        tagged = tag(read, spec, name, (ORIGIN, POSITION))
        belongs = _belongs(spec, name, extent).alias(place)
        sides.append(tagged.select(ORIGIN, POSITION, belongs))
    together = sides[0].join(sides[1], [ORIGIN, POSITION], "full_outer")
    return together.where(~F.col(THEN).eqNullSafe(F.col(NOW))).select(ORIGIN, THEN, NOW)


def _belongs(spec: Spec, name: str, extent: Extent) -> Column:
    """A row's partition as text; null for a rejected row without one."""
    time = spec.event_time_of(name)
    if extent.of_windows and time is not None:
        at = F.col(quoted(time.column)).cast("timestamp")
        within = F.lit(True)
        if extent.start is not None and extent.end is not None:
            within = (at >= F.lit(extent.start)) & (at < F.lit(extent.end))
        where = F.when(within, F.lit(WITHIN)).otherwise(F.lit(ELSEWHERE))
        # Asked so, Spark parses all columns, as it did then.
        return F.when(F.col(f"{REJECT}.record").isNull(), where)
    good = F.col(f"{REJECT}.record").isNull()
    parts = [
        F.when(
            good, F.coalesce(F.col(f"`{column}`").cast("string"), F.lit(NULL_PARTITION))
        ).otherwise(F.col(f"{REJECT}.partition").getItem(column))
        for column in extent.partitions.columns
    ]
    known = reduce(Column.__and__, (part.isNotNull() & (part != "") for part in parts))
    return F.when(known, F.concat_ws("/", *parts))


def _rows_move(pipeline: Pipeline, extent: Extent, others: Sequence[str]) -> RowsMove:
    shown = ", ".join(others[:5]) + (" …" if len(others) > 5 else "")
    columns: Partitions = extent.partitions
    return RowsMove(
        f"sources of {pipeline.name} are read otherwise than they were, and rows move between "
        f"{columns} and {shown}: they would be lost, or be there twice.",
        remedy="Choose an interval that holds these too, or compute all of it again: "
        f"tidemill rebuild {pipeline.name} --reason TEXT.",
        partitions=[*others],
    )
