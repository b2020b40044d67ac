"""Accepted losses are passed over: by a batch of Spark's own that ends where they end.

Spark passes over expired records only with `failOnDataLoss: false`, and then over whatever else is
gone by the time it reads. So the batch is planned here, in Spark's write-ahead log: from where the
source stands to the end of the accepted ranges, in which there is nothing left to read. Spark then
runs that one batch (trigger `once`), state and watermark included, and every later one with
`failOnDataLoss: true` again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidemill.contract.log import Log
from tidemill.engine.query.build import plan
from tidemill.engine.sinks.start import start
from tidemill.engine.sources.static_inputs import Statics
from tidemill.engine.spark_errors import of_spark, query_error
from tidemill.generations.verify import Generation, open_generation
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.ledger import Ledger
from tidemill.sources.kafka.accepted_loss import Losses, PassedLoss
from tidemill.sources.kafka.probe import KafkaLook
from tidemill.spark_logs.kafka_initial_offsets import initial_offsets_file
from tidemill.spark_logs.metadata_log import read_log_file
from tidemill.spark_logs.offset_ranges import Range, as_offsets, between, merged
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.kafka import KafkaSource, Offsets
from tidemill.spec.stream_trigger import StreamTrigger, TriggerKind
from tidemill.storage.lease import Lease
from tidemill.storage.sync import put_whole


def pass_over(
    session: SparkSession,
    pipeline: Pipeline,
    probes: Sequence[KafkaLook],
    statics: Statics,
    lease: Lease,
    run_id: str,
    log: Log,
) -> bool:
    """Pass over the accepted losses of all sources, each exactly.

    Args:
        session: To run the batch with.
        looks: At its Kafka sources, taken under the lease.
        statics: Static input -> its rows.
        lease: Held by the caller, whose start of this epoch is in the ledger already.
        log: Gets a line per loss.

    Returns:
        Whether anything was passed over: what the caller knows of the sources is then out of date.
    """
    for look in probes:
        _note_late(pipeline, look, run_id)
    accepted = [look for look in probes if look.accepted is not None]
    for look in accepted:
        _pass_over(session, pipeline, look, statics, lease, run_id, log)
    return bool(accepted)


def _note_late(pipeline: Pipeline, look: KafkaLook, run_id: str) -> None:
    """Note the loss for a driver that died between batch and note."""
    losses = Losses(pipeline.layout, generation_of(pipeline), look.source)
    loss = losses.waiting()
    if loss is None or look.read is None or between(look.read.offsets, _ends(loss.ranges)):
        return
    after = _ends(loss.ranges)
    batch = next(
        (
            batch.batch
            for batch in Ledger(pipeline.layout, generation_of(pipeline)).batches()
            if not between(as_offsets(batch.offsets.get(look.source)), after)
        ),
        None,
    )
    losses.passed_over(
        PassedLoss(number=loss.number, batch=batch, run_id=run_id, passed=datetime.now(UTC))
    )


def _pass_over(
    session: SparkSession,
    pipeline: Pipeline,
    look: KafkaLook,
    statics: Statics,
    lease: Lease,
    run_id: str,
    log: Log,
) -> None:
    generation = open_generation(pipeline)
    layout, loss = pipeline.layout, look.accepted
    if loss is None or look.read is None:
        return
    after = merged(look.read.offsets, _ends(look.gone))
    lease.check()
    if look.read.batch is None:
        # No batch has read this source: then it is its beginning that is in the ranges.
        begins = initial_offsets_file(layout, generation.name, look.source)
        put_whole(begins, f"\0v1\n{_json(after)}")
        batch = None
    else:
        if generation.unfinished and generation.written > generation.committed:
            # The sink holds it already: it only lacks its commit, which reads nothing.
            _run_once(session, pipeline, look.source, statics, lease, run_id)
            generation = open_generation(pipeline)
        batch = _plan_batch(generation, look.source, after)
        _run_once(session, pipeline, look.source, statics, lease, run_id)
    Losses(layout, generation.name, look.source).passed_over(
        PassedLoss(number=loss.number, batch=batch, run_id=run_id, passed=datetime.now(UTC))
    )
    where = "before the first batch" if batch is None else f"with batch {batch}"
    log(
        f"sources.{look.source}: {loss.records:,} records that expired were passed over {where}, "
        f"as {loss.by} accepted: {loss.reason}"
    )


def _plan_batch(generation: Generation, source: str, after: Offsets) -> int:
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
        "batchTimestampMs": int(datetime.now(UTC).timestamp() * 1000),
    }
    lines = [json.dumps(metadata, separators=(",", ":"))]
    for line in known.lines[1:]:
        name, _, _ = line.partition(":")
        lines.append(f"{source}:{_json(after)}" if name == source else line)
    put_whole(entry.with_name(str(batch)), "\n".join([f"v{known.version}", *lines]))
    return batch


def _run_once(
    session: SparkSession,
    pipeline: Pipeline,
    name: str,
    statics: Statics,
    lease: Lease,
    run_id: str,
) -> None:
    """Let Spark run the one batch that is planned."""
    source = pipeline.spec.sources[name]
    assert isinstance(source, KafkaSource)  # noqa: S101 (for mypy)
    lenient = source.model_copy(update={"failOnDataLoss": False})
    spec = pipeline.spec.model_copy(update={"sources": {**pipeline.spec.sources, name: lenient}})
    passing = replace(pipeline, spec=spec)
    trigger = StreamTrigger(TriggerKind.ONCE)
    try:
        planned = plan(session, passing, statics)
        query = start(planned, passing, generation_of(pipeline), lease, run_id, trigger)
        query.awaitTermination()
    except PySparkException as error:
        raise of_spark(error) from error
    failure = query_error(query)
    if failure is not None:
        raise failure


def _ends(gone: Sequence[Range]) -> Offsets:
    ends: Offsets = {}
    for one in gone:
        ends.setdefault(one.topic, {})[one.partition] = one.until
    return ends


def _json(offsets: Offsets) -> str:
    text = {
        topic: {str(n): offset for n, offset in ends.items()} for topic, ends in offsets.items()
    }
    return json.dumps(text, separators=(",", ":"))
