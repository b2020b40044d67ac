"""A dry run: what would be computed again, and how it differs from what consumers read now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StringType, StructType, VariantType

from tidemill.engine.recompute.intervals import Extent
from tidemill.engine.recompute.recompute import Computed, compute
from tidemill.engine.spark_errors import from_spark
from tidemill.file_formats.delta import open_dataset
from tidemill.file_formats.delta_log import has_table
from tidemill.file_formats.reader import REJECT
from tidemill.file_formats.written_format import PARQUET, WriteFormat, written_by
from tidemill.journal.partition_set import Partitions
from tidemill.journal.published_files import files_now
from tidemill.journal.recomputation import Recomputation
from tidemill.spark_logs.partition_paths import NULL_PARTITION
from tidemill.spec.output import OutputMode
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.folders import remove_folder
from tidemill.storage.run_context import RunContext

if TYPE_CHECKING:
    import pyarrow.dataset as ds

# The folder of published rows beside the computed ones; no partition has such a name.
PUBLISHED = "_published"
SIGN = "_tidemill_sign"
NET = "_tidemill_net"
ADDED, REMOVED = "_tidemill_added", "_tidemill_removed"


@dataclass(frozen=True)
class DryRun:
    """The effect that a backfill would have.

    Args:
        inputs: Files and ranges of records that were read.
        input_rows: Rows read; None where the ledger does not know.
        skipped: Inputs that the lateness bound let it pass over.
        rejected: Rejected ones.
        added: Rows that consumers do not read now.
        removed: Rows that they would read no more.
        changed: Rows of a key that is there now with other values; 0 without `output.keys`.
    """

    extent: Extent
    inputs: int
    input_bytes: int
    input_rows: int | None
    skipped: int
    rows: int
    rejected: int
    added: int
    removed: int
    changed: int


def dry_run(
    session: SparkSession, run: RunContext, recomputation: Recomputation, extent: Extent
) -> DryRun:
    """Compute what a backfill would, compare it with what is published, and leave nothing behind.

    Raises:
        Refused: as `recompute`.
    """
    pipeline = run.pipeline
    done = compute(session, run, recomputation, extent)
    sink = pipeline.layout.sink(done.place.generation)
    try:
        now = _computed(session, pipeline, done)
        then = _published(session, pipeline, done, extent.partitions)
        added, removed, changed = difference(then, now, pipeline.spec.output.keys)
    except PySparkException as error:
        raise from_spark(error) from error
    finally:
        remove_folder(sink, missing_ok=True)
    return DryRun(
        extent,
        done.inputs.count,
        done.inputs.bytes,
        done.inputs.rows,
        done.skipped,
        done.rows,
        done.rejected,
        added,
        removed,
        changed,
    )


def difference(then: DataFrame, now: DataFrame, keys: Sequence[str]) -> tuple[int, int, int]:
    """The numbers of rows added, removed and changed.

    Args:
        then: Rows; a column that only one of both has is null in the other.
        now: The rows that take their place.
        keys: Columns that tell rows apart; without any no row counts as changed.
    """
    signed = (
        _comparable(then, now)
        .withColumn(SIGN, F.lit(-1))
        .unionByName(_comparable(now, then).withColumn(SIGN, F.lit(1)), allowMissingColumns=True)
    )
    columns = [f"`{name}`" for name in signed.columns if name != SIGN]
    net = signed.groupBy(*columns).agg(F.sum(SIGN).alias(NET)).where(F.col(NET) != 0)
    by = [F.col(f"`{key}`") for key in keys] or [F.monotonically_increasing_id()]
    groups = net.groupBy(*by).agg(
        F.sum(F.greatest(NET, F.lit(0))).alias(ADDED),
        F.sum(F.greatest(-F.col(NET), F.lit(0))).alias(REMOVED),
    )
    changed = F.least(ADDED, REMOVED)
    (row,) = groups.agg(
        F.coalesce(F.sum(F.col(ADDED) - changed), F.lit(0)),
        F.coalesce(F.sum(F.col(REMOVED) - changed), F.lit(0)),
        F.coalesce(F.sum(changed), F.lit(0)),
    ).collect()
    return int(row[0]), int(row[1]), int(row[2])


def _comparable(rows: DataFrame, other: DataFrame) -> DataFrame:
    """Rows in types that Spark compares and that both sides have."""
    types = {field.name: field.dataType for field in other.schema.fields}
    columns = []
    for field in rows.schema.fields:
        column = F.col(f"`{field.name}`")
        if isinstance(field.dataType, MapType | ArrayType | StructType | VariantType):
            column = F.to_json(column)
        elif types.get(field.name, field.dataType) != field.dataType:
            column = column.cast("string")
        columns.append(column.alias(field.name))
    return rows.select(*columns)


def _computed(session: SparkSession, pipeline: Pipeline, done: Computed) -> DataFrame:
    sink = pipeline.layout.sink(done.place.generation)
    output = pipeline.spec.output
    written = written_by(output) if output.mode is OutputMode.APPEND else PARQUET
    files = [(sink / file.path, written) for file in done.files if not file.rejected and file.rows]
    return _of_sinks(session, pipeline, done, files)


def _published(
    session: SparkSession, pipeline: Pipeline, done: Computed, partitions: Partitions
) -> DataFrame:
    layout = pipeline.layout
    if not has_table(layout.table):
        listed = files_now(layout)
        files = [
            (layout.home / f.path, f.write_format) for f in listed if partitions.hold(f.partition)
        ]
        return _of_sinks(session, pipeline, done, files)
    # By way of a file: a table may have been merged, or have rows marked as deleted.
    dataset = open_dataset(layout.table)
    scanner = dataset.scanner(filter=_in(dataset.schema, partitions))
    place = layout.sink(done.place.generation) / PUBLISHED / "rows.parquet"
    place.parent.mkdir(parents=True)
    with pq.ParquetWriter(place, dataset.schema) as writer:
        for batch in scanner.to_batches():
            writer.write_batch(batch)
    return session.read.parquet(str(place))


def _in(schema: pa.Schema, partitions: Partitions) -> ds.Expression | None:
    """The rows of some partitions, by columns that a table's files are listed by."""
    import pyarrow.dataset as ds

    if partitions.everything:
        return None
    if len(partitions.columns) == 1:
        (column,) = partitions.columns
        named = [value[0] for value in partitions.values if value[0] != NULL_PARTITION]
        values = pa.array(named, pa.string()).cast(schema.field(column).type)
        is_named = ds.field(column).isin(values)
        has_null = len(named) < len(partitions.values)
        return is_named | ds.field(column).is_null() if has_null else is_named
    each = (
        reduce(
            lambda one, other: one & other,
            (
                _is(schema.field(column), text)
                for column, text in zip(partitions.columns, value, strict=True)
            ),
        )
        for value in partitions.values
    )
    return reduce(lambda one, other: one | other, each)


def _is(field: pa.Field, text: str) -> ds.Expression:
    """The condition that a column has the value of a directory's name."""
    import pyarrow.dataset as ds

    column = ds.field(field.name)
    return (
        column.is_null() if text == NULL_PARTITION else column == pa.scalar(text).cast(field.type)
    )


def _of_sinks(
    session: SparkSession,
    pipeline: Pipeline,
    done: Computed,
    files: Iterable[tuple[Path, WriteFormat]],
) -> DataFrame:
    """The good rows of files of sinks, with the partitions that their directories name."""
    table = pipeline.layout.table
    parts: dict[tuple[Path, str], tuple[WriteFormat, list[str]]] = {}
    for path, written in files:
        root = table / path.relative_to(table).parts[0]
        parts.setdefault((root, repr(written)), (written, []))[1].append(str(path))
    schema = done.planned.table_schema
    rows = [
        _read(session, schema, root, written, paths)
        for (root, _), (written, paths) in parts.items()
    ]
    return reduce(DataFrame.unionByName, rows, session.createDataFrame([], schema))


def _read(
    session: SparkSession, schema: StructType, root: Path, written: WriteFormat, paths: list[str]
) -> DataFrame:
    fields = StructType([*schema.fields])
    if written.rules.by_position:
        fields = fields.add(REJECT, StringType())
    reader = session.read.format(written.format).schema(fields).options(**written.rereading)
    rows = reader.option("basePath", str(root)).load(paths)
    return rows.select(*(f"`{name}`" for name in schema.names))
