"""The streaming query of a pipeline: sources -> transform -> sink, on one screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from tidemill.engine.query.erased import (
    refuse_missing_sources,
    without_erased,
    without_erased_input,
)
from tidemill.engine.query.file_columns import of_transform
from tidemill.engine.query.metrics import observed
from tidemill.engine.query.partition_columns import with_partitions
from tidemill.engine.query.pipeline_class import class_of, state_encoding
from tidemill.engine.query.planned_query import ROWS_READ, Plan, Watch
from tidemill.engine.query.publishable import publishable
from tidemill.engine.query.read_once import read_once
from tidemill.engine.query.refusals import refuse_unsupported
from tidemill.engine.query.reject import committed, good, tag, two_passes
from tidemill.engine.query.repeatable_expressions import refuse_unrepeatable_expressions
from tidemill.engine.query.result_checks import result_checks
from tidemill.engine.query.row_counts import reads_for_a_sample
from tidemill.engine.query.single_pass import one_pass, rows_per_row
from tidemill.engine.query.transform import apply, load_transform
from tidemill.engine.sources.exclusions import leave_out
from tidemill.engine.sources.kinds import read_stream
from tidemill.engine.sources.static_inputs import Statics
from tidemill.generations.build import left_out
from tidemill.ledger.batch import RowsPerRow
from tidemill.spec.output import OutputMode
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.erasures import Erasure, read_erasures

if TYPE_CHECKING:
    from tidemill.engine.query.planned_query import Watch


def plan(
    session: SparkSession,
    pipeline: Pipeline,
    statics: Statics | None = None,
    watch: Watch | None = None,
) -> Plan:
    """Build the query without starting it.

    Args:
        statics: Static input -> its rows, of a pipeline that has any.
        watch: What is observed on the way to a sink of Spark's own.

    Raises:
        SpecError: schema, expressions or transform do not fit together.
    """
    names = pipeline.spec.sources
    continuous = watch is not None and watch.continuous
    read = {name: read_stream(session, pipeline, name, continuous=continuous) for name in names}
    sources = leave_out(read, left_out(pipeline))
    if pipeline.spec.published:
        return plan_rows(sources, pipeline, statics)
    from tidemill.engine.query import ungated

    return ungated.plan_rows(sources, pipeline, watch or Watch(), statics)


def plan_rows(
    sources: Mapping[str, DataFrame], pipeline: Pipeline, statics: Statics | None = None
) -> Plan:
    """The pipeline's rows from its sources; the same for streams and batches."""
    spec, path = pipeline.spec, pipeline.transform_file
    if spec.published:
        refuse_unrepeatable_expressions(spec, pipeline.spec_file)
    tagged = _tagged(sources, pipeline)
    erasures = read_erasures(pipeline.layout.home)
    kept = _kept(tagged, pipeline, erasures)
    fine = {name: good(frame, spec, name) for name, frame in kept.items()}
    transform = load_transform(path)
    transformed = with_partitions(apply(transform, fine, spec, path, statics), pipeline)
    if spec.published:
        for refuse in result_checks(transformed, pipeline):
            refuse()
    rows, may_be_null = None, tuple[str, ...]()
    per_row: RowsPerRow = "any"
    if len(sources) == 1:
        (name,) = sources
        if spec.output.mode is OutputMode.APPEND:
            per_row = rows_per_row(fine[name], transformed)
        if not spec.observe:
            rows = one_pass(kept[name], fine[name], transformed)
    if rows is None:
        # Spark's own count of rows read has each of them twice here.
        once = not reads_for_a_sample(transformed)
        counted = {name: _counted(name, frame, once=once) for name, frame in tagged.items()}
        # Erased rows are read too, and counted as such.
        kept = _kept(counted, pipeline, erasures)
        fine = {name: good(frame, spec, name) for name, frame in kept.items()}
        result = with_partitions(apply(transform, fine, spec, path, statics), pipeline)
        rows = two_passes(tagged.values(), observed(result, pipeline))
        may_be_null = tuple(spec.output.partition_by)
    rows = publishable(rows, spec, may_be_null)
    if erasures:
        rows = without_erased(rows, erasures)
        per_row = "at_most_one" if per_row == "one" else per_row
    refuse_unsupported(rows, path, spec.output.mode)
    return Plan(
        read_once(committed(rows, spec)),
        _published(transformed.schema),
        class_of(transformed, spec.output.mode),
        state_encoding(transformed),
        per_row,
    )


def result_of(
    sources: Mapping[str, DataFrame], pipeline: Pipeline, statics: Statics | None = None
) -> DataFrame:
    """What the transform makes of the good rows, with the partition columns; nothing is refused.

    Raises:
        SpecError: schema, expressions or transform do not fit together.
    """
    spec, path = pipeline.spec, pipeline.transform_file
    kept = _kept(_tagged(sources, pipeline), pipeline, read_erasures(pipeline.layout.home))
    fine = {name: good(rows, spec, name) for name, rows in kept.items()}
    return with_partitions(apply(load_transform(path), fine, spec, path, statics), pipeline)


def _tagged(sources: Mapping[str, DataFrame], pipeline: Pipeline) -> dict[str, DataFrame]:
    return {
        name: tag(frame, pipeline.spec, name, of_transform(pipeline, name))
        for name, frame in sources.items()
    }


def _kept(
    tagged: Mapping[str, DataFrame], pipeline: Pipeline, erasures: Sequence[Erasure]
) -> Mapping[str, DataFrame]:
    """The rows of the sources without those that are erased before the transform."""
    refuse_missing_sources(erasures, pipeline.spec.sources)
    return {name: without_erased_input(rows, erasures, name) for name, rows in tagged.items()}


def _published(schema: StructType) -> StructType:
    """Columns without what Spark notes of them for itself, such as their watermark."""
    fields = (StructField(one.name, one.dataType, one.nullable) for one in schema.fields)
    return StructType([*fields])


def _counted(source: str, rows: DataFrame, *, once: bool) -> DataFrame:
    """The same rows, counted as they are read; their number is null where that is not once."""
    number = F.count(F.lit(1)) if once else F.max(F.lit(None).cast("bigint"))
    return rows.observe(f"{ROWS_READ}.{source}", number.alias("rows"))
