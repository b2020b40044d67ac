"""The streaming query of a pipeline: sources -> transform -> sink, on one screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.generations.construction import left_out
from tidemill.spec.pipeline import Pipeline

from spark_jobs.engine.keys import refuse_keys
from spark_jobs.engine.left_out import leave_out
from spark_jobs.engine.observed import observed
from spark_jobs.engine.one_pass import one_pass
from spark_jobs.engine.partition_types import refuse_unfaithful_types
from spark_jobs.engine.partitions import with_partitions
from spark_jobs.engine.pipeline_class import class_of, state_encoding
from spark_jobs.engine.read_once import read_once
from spark_jobs.engine.refusals import refuse_unrepeatable, refuse_unsupported
from spark_jobs.engine.rows import committed, good, tag, two_passes
from spark_jobs.engine.source import read_stream
from spark_jobs.engine.static import Statics
from spark_jobs.engine.transform import apply, load_transform

if TYPE_CHECKING:
    from spark_jobs.engine.ungated import Watch

ROWS_READ = "tidemill_rows"


@dataclass(frozen=True)
class Plan:
    """A query that is ready to start.

    Args:
        rows: What the sink writes: good and rejected rows.
        table_schema: The published columns.
        pipeline_class: How the rows depend on the batches.
        state_encoding: Of what is kept between them.
    """

    rows: DataFrame
    table_schema: StructType
    pipeline_class: PipelineClass
    state_encoding: str


def plan(
    session: SparkSession,
    pipeline: Pipeline,
    statics: Statics | None = None,
    watch: Watch | None = None,
) -> Plan:
    """Build the query without starting it.

    Args:
        session: To read with.
        pipeline: Whose.
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
    from spark_jobs.engine import ungated

    return ungated.plan_rows(sources, pipeline, watch or ungated.Watch(), statics)


def plan_rows(
    sources: Mapping[str, DataFrame], pipeline: Pipeline, statics: Statics | None = None
) -> Plan:
    """What becomes of the sources' rows; the same for streams and for batches of them."""
    spec, path = pipeline.spec, pipeline.transform_file
    tagged = {name: tag(frame, spec, name) for name, frame in sources.items()}
    fine = {name: good(frame, spec, name) for name, frame in tagged.items()}
    transform = load_transform(path)
    transformed = with_partitions(apply(transform, fine, spec, path, statics), pipeline)
    if spec.published:
        refuse_unrepeatable(transformed, path, spec.output.mode)
        refuse_keys(transformed, spec, pipeline.spec_file)
        refuse_unfaithful_types(transformed.schema, spec, pipeline.spec_file)
    rows = None
    if len(sources) == 1 and not spec.observe:
        (name,) = sources
        rows = one_pass(tagged[name], fine[name], transformed)
    if rows is None:
        # Spark's own count of rows read has each of them twice here.
        counted = {name: _counted(name, frame) for name, frame in tagged.items()}
        fine = {name: good(frame, spec, name) for name, frame in counted.items()}
        result = with_partitions(apply(transform, fine, spec, path, statics), pipeline)
        rows = two_passes(tagged.values(), observed(result, pipeline))
    refuse_unsupported(rows, path, spec.output.mode)
    return Plan(
        read_once(committed(rows, spec)),
        _published(transformed.schema),
        class_of(transformed, spec.output.mode),
        state_encoding(transformed),
    )


def _published(schema: StructType) -> StructType:
    """Columns without what Spark notes of them for itself, such as their watermark."""
    fields = (StructField(one.name, one.dataType, one.nullable) for one in schema.fields)
    return StructType([*fields])


def _counted(source: str, rows: DataFrame) -> DataFrame:
    return rows.observe(f"{ROWS_READ}.{source}", F.count(F.lit(1)).alias("rows"))
