"""Resolves the partitions of a request: of an interval, by name, or of rejected rows."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tidemill.contract.errors import Refused
from tidemill.engine.recompute.intervals import Extent, extent_of
from tidemill.file_formats.delta_log import has_table
from tidemill.journal.partition_set import Partitions
from tidemill.ledger.run_request import RunRequest
from tidemill.spec.pipeline import Pipeline

Partition = Mapping[str, str | None]


class NothingRejected(Refused):
    """No row of a pipeline is rejected that has a partition; carries `pipeline`."""


class PartitionUntimed(Refused):
    """A partition's value is neither a day nor a time; carries `value`."""


def resolve_partitions(session: SparkSession, pipeline: Pipeline, request: RunRequest) -> Extent:
    """The whole partitions that a request means, and the times they cover.

    Args:
        request: With an interval, with partitions, or for what was rejected.

    Raises:
        NothingRejected: it is for rejected rows, and there are none.
        PartitionUntimed: partitions are named, and are not days or times.
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
        requested: Column -> value as it is in directories' names; columns that time does not decide
            are of no account.

    Raises:
        PartitionUntimed: the values of a column are not days or times.
    """
    partitions = [*requested]
    column = next(iter(pipeline.spec.output.partition_by), None)
    if column is None:
        return Extent(Partitions())
    zone = ZoneInfo(pipeline.spec.timezone)
    times = [
        _time(pipeline, value, zone) for one in partitions if (value := one.get(column)) is not None
    ]
    whole = extent_of(session, pipeline, min(times), max(times) + timedelta(minutes=1))
    columns = whole.partitions.columns
    if not columns:
        return whole
    named = {tuple(one.get(name) for name in columns) for one in partitions}
    values = tuple(value for value in whole.partitions.values if value in named)
    return replace(whole, partitions=Partitions(columns=columns, values=values))


def _of_rejected(pipeline: Pipeline) -> list[Partition]:
    """The partitions that rejected rows would have."""
    path = pipeline.layout.rejected
    known: list[Partition] = []
    if has_table(path):
        rows = DeltaTable(path).to_pyarrow_table(columns=["partition"]).to_pylist()
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


def _time(pipeline: Pipeline, value: str, zone: ZoneInfo) -> datetime:
    try:
        time = datetime.fromisoformat(value)
    except ValueError as error:
        raise PartitionUntimed(
            f"'{value}' is neither a day nor a time, so it is unknown when that partition is.",
            remedy=f"Say when it is: tidemill backfill {pipeline.name} --from DAY --to DAY.",
            value=value,
        ) from error
    return time if time.tzinfo else time.replace(tzinfo=zone)
