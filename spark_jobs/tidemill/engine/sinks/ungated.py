"""Sinks that Spark writes to by itself: the writer of each kind."""

import os
from typing import Any

from pyspark.sql.streaming import DataStreamWriter

from tidemill.contract.connections.airflow import connection
from tidemill.contract.connections.kafka import spark_options
from tidemill.engine.sinks.sink_code import load_foreach, load_foreach_batch
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sinks import (
    ConsoleSink,
    ForeachBatchSink,
    ForeachSink,
    KafkaSink,
    MemorySink,
    Sink,
)


def write(writer: DataStreamWriter, pipeline: Pipeline, sink: Sink) -> DataStreamWriter:
    """The writer of a sink, without its trigger.

    Args:
        writer: The writer of the planned rows, with mode and checkpoint.

    Raises:
        SpecError: the transform's file lacks the sink's functions.
        UsageError: the connection is missing or unreadable.
    """
    path = pipeline.transform_file
    if isinstance(sink, KafkaSink):
        broker = spark_options(connection(sink.conn_id, os.environ))
        return writer.format("kafka").options(**sink.writer_options, **broker)
    if isinstance(sink, ForeachSink):
        return writer.foreach(load_foreach(path))
    if isinstance(sink, ForeachBatchSink):
        return writer.foreachBatch(load_foreach_batch(path, persist=sink.persist))
    if isinstance(sink, ConsoleSink):
        shown: dict[str, Any] = {"numRows": sink.numRows, "truncate": sink.truncate}
        return writer.format("console").options(**shown)
    return writer.format("memory").queryName(memory_table(pipeline, sink))


def memory_table(pipeline: Pipeline, sink: MemorySink) -> str:
    """The temporary table that a memory sink fills."""
    return sink.table or pipeline.name
