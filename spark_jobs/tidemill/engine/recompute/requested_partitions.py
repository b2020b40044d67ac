"""Resolves the partitions of a request: of an interval, by name, or of rejected rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from pyspark.sql import SparkSession

from tidemill.contract.errors import Refused
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.engine.recompute.intervals import Extent, IntervalUncut, extent_of
from tidemill.file_formats.delta_log import has_table
from tidemill.file_formats.delta_table import open_table
from tidemill.journal.partition_set import Partitions
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.run_request import RunRequest
from tidemill.spark_logs.partition_paths import NULL_PARTITION
from tidemill.spec.pipeline import Pipeline

Partition = Mapping[str, str | None]


class NothingRejected(Refused):
    """No row of a pipeline is rejected that has a partition; carries `pipeline`."""


class PartitionUntimed(Refused):
    """A partition of a pipeline with state is neither a day nor a time; carries `value`."""


def resolve_partitions(session: SparkSession, pipeline: Pipeline, request: RunRequest) -> Extent:
    """The whole partitions that a request means, and the times they cover.

    Args:
        request: With an interval, with partitions, or for what was rejected.

    Raises:
        NothingRejected: it is for rejected rows, and there are none.
        PartitionUntimed: partitions are named, are not days or times, and there is state.
        IntervalUncut: an interval is given, and time does not tell the partitions.
    """
    if request.start is not None and request.end is not None:
        return extent_of(session, pipeline, request.start, request.end)
    requested = _of_rejected(pipeline) if request.rejected else request.partitions
    return extent_of_partitions(session, pipeline, requested)


def extent_of_partitions(
    session: SparkSession, pipeline: Pipeline, requested: Iterable[Partition]
) -> Extent:
    """Some partitions by name, with the times they cover.

    Args:
        requested: Column -> value as it is in directories' names, where null is `NULL_PARTITION`;
            where time decides some of the columns, the others are of no account. One without
            columns stands for the whole table.

    Returns:
        Without times where nothing but its values tells a partition.

    Raises:
        PartitionUntimed: the values are not days or times, and the pipeline keeps state.
    """
    partitions, spec = [*requested], pipeline.spec
    if spec.output.keeps_null_partition:
        partitions = [
            {n: NULL_PARTITION if v is None else v for n, v in one.items()} for one in partitions
        ]
    if not spec.output.partition_by or not all(partitions):
        return Extent(Partitions())
    zone = ZoneInfo(spec.timezone)
    column = next(iter(spec.output.partition_by))
    values = [one.get(column) for one in partitions]
    times = [None if value is None else _time(value, zone) for value in values]
    known = [time for time in times if time is not None]
    timed = all(spec.event_time_of(name) is not None for name in spec.sources)
    by_value = _by_value(pipeline, partitions)
    if not timed or len(known) < len(times):
        if by_value is not None:
            return by_value
        raise _untimed(pipeline, str(values[times.index(None)] if None in times else values[0]))
    try:
        whole = extent_of(session, pipeline, min(known), max(known) + timedelta(minutes=1))
    except IntervalUncut:
        if by_value is None:
            raise
        return by_value
    columns = whole.partitions.columns
    if not columns or any(one.get(name) is None for one in partitions for name in columns):
        return by_value or whole
    named = {tuple(one.get(name) for name in columns) for one in partitions}
    kept = tuple(value for value in whole.partitions.values if value in named)
    return replace(whole, partitions=Partitions(columns=columns, values=kept))


def _by_value(pipeline: Pipeline, partitions: Sequence[Partition]) -> Extent | None:
    """The partitions as they are named, of all times; None where batches depend on each other.

    Nothing tells when such a partition is complete. Row by row that does not matter: what has
    arrived of it so far is computed again, and what comes later is added by live runs.
    """
    note = read_note(pipeline.layout, generation_of(pipeline))
    if note is not None and note.pipeline_class is not PipelineClass.MAP:
        return None
    columns = tuple(
        name
        for name in pipeline.spec.output.partition_by
        if all(one.get(name) is not None for one in partitions)
    )
    named = {tuple(str(one[name]) for name in columns) for one in partitions}
    return Extent(Partitions(columns=columns, values=tuple(sorted(named)))) if columns else None


def _of_rejected(pipeline: Pipeline) -> list[Partition]:
    """The partitions that rejected rows would have."""
    path = pipeline.layout.rejected
    known: list[Partition] = []
    if has_table(path):
        rows = open_table(path).to_pyarrow_table(columns=["partition"]).to_pylist()
        partitions = {tuple(row["partition"]) for row in rows if row["partition"]}
        known = [
            dict(pairs) for pairs in partitions if all(value is not None for _, value in pairs)
        ]
    if not known:
        raise NothingRejected(
            f"No rejected row of {pipeline.name} has a partition that could be computed again.",
            remedy="See what was rejected, and why: tidemill rows "
            f"{pipeline.name} --rejected; days by hand: "
            f"tidemill backfill {pipeline.name} --from DAY --to DAY.",
            pipeline=pipeline.name,
        )
    return known


def _time(value: str, zone: ZoneInfo) -> datetime | None:
    """The time that a partition's value says; None where it says none."""
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=zone)


def _untimed(pipeline: Pipeline, value: str) -> PartitionUntimed:
    name = pipeline.name
    return PartitionUntimed(
        f"'{value}' is neither a day nor a time, and {name} keeps state, so that only times tell "
        "which of its partitions are complete.",
        remedy=f"Say when it is: tidemill backfill {name} --from 2026-03-01 --to 2026-03-08; or "
        f"compute everything again: tidemill rebuild {name} --reason TEXT.",
        value=value,
    )
