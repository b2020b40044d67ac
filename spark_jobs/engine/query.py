"""The streaming query of a pipeline: source -> transform -> sink, on one screen."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.types import StructType

from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.contract.spec import Trigger
from spark_jobs.engine.one_pass import one_pass
from spark_jobs.engine.partition_types import refuse_unfaithful_types
from spark_jobs.engine.refusals import refuse_unrepeatable
from spark_jobs.engine.rows import committed, good, tag, two_passes
from spark_jobs.engine.source import read_stream
from spark_jobs.engine.transform import apply, load_transform

ROWS_READ = "tidemill_rows"


@dataclass(frozen=True)
class Plan:
    """A query that is ready to start.

    Args:
        rows: What the sink writes: good and rejected rows.
        table_schema: The published columns.
    """

    rows: DataFrame
    table_schema: StructType


def plan(session: SparkSession, pipeline: Pipeline) -> Plan:
    """Build the query without starting it.

    Raises:
        SpecError: schema, expressions or transform do not fit together.
    """
    return plan_rows(read_stream(session, pipeline.spec.source, pipeline.spec.trigger), pipeline)


def plan_rows(source: DataFrame, pipeline: Pipeline) -> Plan:
    """What becomes of the source's rows; the same for a stream and for a batch of them."""
    spec, path = pipeline.spec, pipeline.transform_file
    tagged = tag(source, spec)
    fine = good(tagged)
    transform = load_transform(path)
    transformed = apply(transform, fine, spec, path)
    refuse_unrepeatable(transformed, path)
    refuse_unfaithful_types(transformed.schema, spec, pipeline.spec_file)
    rows = one_pass(tagged, fine, transformed)
    if rows is None:
        # Spark's own count of rows read has each of them twice here.
        counted = tagged.observe(ROWS_READ, F.count(F.lit(1)).alias("rows"))
        transformed = apply(transform, good(counted), spec, path)
        rows = two_passes(tagged, transformed)
    return Plan(committed(rows, spec), transformed.schema)


def start(plan: Plan, pipeline: Pipeline, generation: str) -> StreamingQuery:
    """Start the query on its checkpoint and its sink directory."""
    spec, layout = pipeline.spec, pipeline.layout
    writer = (
        plan.rows.writeStream.format(spec.output.format)
        .outputMode(spec.output.mode)
        .partitionBy(*spec.output.sink_partitions)
        .option("path", str(layout.sink(generation)))
        .option("checkpointLocation", str(layout.checkpoint(generation)))
        .option("maxRecordsPerFile", spec.output.maxRecordsPerFile)
        .queryName(pipeline.name)
    )
    if spec.trigger is Trigger.ONCE:
        return writer.trigger(once=True).start()
    return writer.trigger(availableNow=True).start()
