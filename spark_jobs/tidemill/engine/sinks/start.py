"""The sink: where a planned query's rows go, and when it takes its batches."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from tidemill.engine import callback_errors
from tidemill.engine.query.planned_query import Plan
from tidemill.engine.sinks.output_format import in_format
from tidemill.spec.output import OutputMode
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.stream_trigger import StreamTrigger
from tidemill.storage.run_context import LeasedRun


def start(plan: Plan, run: LeasedRun, generation: str, trigger: StreamTrigger) -> StreamingQuery:
    """Start a query on its checkpoint.

    Args:
        plan: The rows.
        run: The run; what it writes carries the epoch of its lease.
        trigger: When it takes its batches.
    """
    # What an earlier query of this process left is not this one's error.
    callback_errors.take(run.pipeline.name)
    writer = write(plan, run, generation)
    arguments: dict[str, Any] = trigger.arguments
    return (writer.trigger(**arguments) if arguments else writer).start()


def write(plan: Plan, run: LeasedRun, generation: str) -> DataStreamWriter:
    """The writer of a query, without a trigger."""
    pipeline, spec, layout = run.pipeline, run.pipeline.spec, run.layout
    rows = sink_rows(plan, pipeline)
    writer = (
        rows.writeStream.outputMode(spec.output.mode)
        .option("checkpointLocation", str(layout.checkpoint(generation)))
        .queryName(pipeline.name)
    )
    if spec.sink is not None:
        from tidemill.engine.sinks import ungated

        return ungated.write(writer, pipeline, spec.sink)
    if spec.output.mode is not OutputMode.APPEND:
        from tidemill.engine.sinks import manifest_sink

        return manifest_sink.write(rows.sparkSession, writer, run, generation)
    return (
        writer.format(spec.output.format)
        .partitionBy(*spec.output.sink_partitions)
        .options(**spec.output.writer_options)
        .option("path", str(layout.sink(generation)))
        .option("maxRecordsPerFile", spec.output.maxRecordsPerFile)
    )


def sink_rows(plan: Plan, pipeline: Pipeline) -> DataFrame:
    """The rows that the sink gets, which decide what the query keeps of its input."""
    output = pipeline.spec.output
    if pipeline.spec.published and output.mode is OutputMode.APPEND:
        return in_format(plan.rows, plan.table_schema, output, pipeline.transform_file)
    return plan.rows
