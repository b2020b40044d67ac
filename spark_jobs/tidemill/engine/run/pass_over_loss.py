"""Passes over accepted losses, by a batch that ends where they end.

Spark passes over expired records only with `failOnDataLoss: false`, and then over whatever else is
gone by the time it reads. So the batch is planned here, in Spark's write-ahead log: from where the
source stands to the end of the accepted ranges, in which there is nothing left to read. Spark then
runs that one batch (trigger `once`), state and watermark included, and every later one with
`failOnDataLoss: true` again.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidemill.contract.counted import counted
from tidemill.engine.query.build import plan
from tidemill.engine.sinks.start import start
from tidemill.engine.sources.static_inputs import Statics
from tidemill.engine.spark_errors import from_spark, query_error
from tidemill.generations.generation import Generation
from tidemill.generations.verify import open_generation
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.losses import Losses, PassedLoss
from tidemill.sources.kafka.probe import KafkaProbeResult
from tidemill.sources.probe_result import ProbeResult
from tidemill.spark_logs.kafka_initial_offsets import initial_offsets_file
from tidemill.spark_logs.metadata_log import read_log_file
from tidemill.spark_logs.offset_ranges import ends_of, merged
from tidemill.spec.sources.kafka import KafkaSource, Offsets
from tidemill.spec.stream_trigger import StreamTrigger, TriggerKind
from tidemill.storage.run_context import LeasedRun
from tidemill.storage.sync import put_whole


def pass_over(
    session: SparkSession, run: LeasedRun, probes: Sequence[ProbeResult], statics: Statics
) -> None:
    """Pass over the accepted losses of all sources, each exactly.

    Args:
        run: The run, whose start of this epoch is in the ledger already.
        probes: The probe of every source, under the lease.
        statics: Static input -> its rows.
    """
    for result in probes:
        if isinstance(result, KafkaProbeResult):
            _pass_over(session, run, result, statics)


def _pass_over(
    session: SparkSession, run: LeasedRun, look: KafkaProbeResult, statics: Statics
) -> None:
    generation = open_generation(run.pipeline)
    layout, loss = run.layout, look.accepted
    if loss is None or look.read is None:
        return
    after = merged(look.read.offsets, ends_of(look.gone))
    run.lease.check()
    if look.read.batch is None:
        # No batch has read this source: then it is its beginning that is in the ranges.
        begins = initial_offsets_file(layout, generation.name, look.source)
        put_whole(begins, f"\0v1\n{_json(after)}")
        batch = None
    else:
        if generation.unfinished and generation.written > generation.committed:
            # The sink holds it already: it only lacks its commit, which reads nothing.
            _run_once(session, run, look.source, statics)
            generation = open_generation(run.pipeline)
        batch = _plan_batch(generation, look.source, after, run.clock())
        _run_once(session, run, look.source, statics)
    Losses(layout, generation.name, look.source).passed_over(
        PassedLoss(number=loss.number, batch=batch, run_id=run.run_id, passed=run.clock())
    )
    where = "before the first batch" if batch is None else f"with batch {batch}"
    run.log(
        f"sources.{look.source}: {counted(loss.records, 'expired record')} passed over {where}, "
        f"as {loss.by} accepted: {loss.reason}"
    )


def _plan_batch(generation: Generation, source: str, after: Offsets, now: datetime) -> int:
    """Write the plan of the next batch into the checkpoint: one source moves, all others stay.

    A plan of that number that was neither run nor committed is replaced: it would read beyond the
    ranges. Spark's file source keeps what it had listed, for the batch after.
    """
    batch = generation.committed + 1
    entry = generation.checkpoint.offsets.files[generation.committed]
    known = read_log_file(entry, generation.committed, (1, 2))
    commit = generation.checkpoint.commits[generation.committed]
    metadata = {
        **known.json(0),
        "batchWatermarkMs": commit.next_watermark_ms,
        "batchTimestampMs": int(now.timestamp() * 1000),
    }
    lines = [json.dumps(metadata, separators=(",", ":"))]
    for line in known.lines[1:]:
        name, _, _ = line.partition(":")
        lines.append(f"{source}:{_json(after)}" if name == source else line)
    put_whole(entry.with_name(str(batch)), "\n".join([f"v{known.version}", *lines]))
    return batch


def _run_once(session: SparkSession, run: LeasedRun, name: str, statics: Statics) -> None:
    """Let Spark run the one batch that is planned."""
    pipeline = run.pipeline
    source = pipeline.spec.sources_of(KafkaSource)[name]
    lenient = source.model_copy(update={"failOnDataLoss": False})
    spec = pipeline.spec.model_copy(update={"sources": {**pipeline.spec.sources, name: lenient}})
    passing = replace(pipeline, spec=spec)
    trigger = StreamTrigger(TriggerKind.ONCE)
    try:
        planned = plan(session, passing, statics)
        query = start(planned, replace(run, pipeline=passing), generation_of(pipeline), trigger)
        query.awaitTermination()
    except PySparkException as error:
        raise from_spark(error) from error
    failure = query_error(query)
    if failure is not None:
        raise failure


def _json(offsets: Offsets) -> str:
    text = {
        topic: {str(n): offset for n, offset in ends.items()} for topic, ends in offsets.items()
    }
    return json.dumps(text, separators=(",", ":"))
