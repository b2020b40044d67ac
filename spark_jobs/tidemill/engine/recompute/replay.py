"""Replay: the transform run as a stream over the ledger's batches, into a scratch generation.

For deduplications, outer joins, timers and first or last values, a batch job gives other rows
than the stream did, or is refused by Spark. So the batches are gone through once more as live went
through them: the same input in each (or none), the same watermarks, flushes and static inputs. What
counts as late stays late. Batch n of the replay is batch n of the ledger, and nothing follows the
last.

Where nothing is left out and spec and transform are those of every batch, the watermarks are the
ledger's. Otherwise they are what the rows make of them, up to the last batch, whose watermark is at
least live's: of what live takes for final nothing is missing then.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

from tidemill.contract.errors import Refused
from tidemill.engine import callback_errors
from tidemill.engine.query.build import plan_rows
from tidemill.engine.query.planned_query import Plan
from tidemill.engine.recompute.past_static_inputs import StaticsOf, past_statics
from tidemill.engine.recompute.replay_input import UNION_OF_ONES, ReplayInput
from tidemill.engine.recompute.replay_output import Keep, ReplayOutput
from tidemill.engine.recompute.replay_segments import MOST_BATCHES, Step, segments, steps_of
from tidemill.engine.sources.static_inputs import persisted
from tidemill.engine.spark_errors import from_spark, query_error
from tidemill.engine.spark_internals.catalyst import Catalyst
from tidemill.engine.spark_internals.plan import analysed, kind, nodes
from tidemill.increments.exclusions import without
from tidemill.journal.recomputation import BatchRange, Recomputation
from tidemill.ledger.generation_note import hash_of_file, hash_of_spec, read_note
from tidemill.spark_logs.checkpoint import read_checkpoint
from tidemill.spark_logs.commit_log import put_watermark
from tidemill.spec.event_time import as_time
from tidemill.spec.output import OutputMode
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.folders import remove_folder
from tidemill.storage.run_context import RunContext
from tidemill.toolchain.spark_conf import SHUFFLE_PARTITIONS, STATE_ENCODING

POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
# Nothing that live has not given out by the last batch.
NO_FURTHER_BATCH = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}


class NotPartly(Refused):
    """A pipeline has no rows of a part of its table; carries `pipeline`."""


def replay(
    session: SparkSession,
    run: RunContext,
    recomputation: Recomputation,
    place: BatchRange,
    keep: Keep,
) -> None:
    """Leave what batches 0 to `made.last` give out as files of a scratch generation's sink.

    In mode `update` the last row of each key is left.

    Args:
        session: Opened with the pipeline's settings; they are afterwards what they were.
        recomputation: What is made again, of which generation.
        place: The scratch generation, whose sink is emptied first.
        keep: A filter of good and rejected rows, as `plan_rows` gives them.

    Raises:
        NotPartly: the output mode is `complete`.
        InputGone: a file is not there any more, or is another.
        NotReplayable: a source gives nothing twice.
        QueryFailed: the transform fails on it.
        QueryInterrupted: a retry may help.
    """
    pipeline, layout, name = run.pipeline, run.layout, place.generation
    if pipeline.spec.output.mode is OutputMode.COMPLETE:
        raise NotPartly(
            f"{pipeline.name} gives out its whole result with every batch (mode complete).",
            remedy=f"Make all of it again: tidemill rebuild {pipeline.name} --reason TEXT.",
            pipeline=pipeline.name,
        )
    out = without(layout, recomputation)
    steps = steps_of(pipeline, recomputation.generation, recomputation.last, out)
    folder = layout.checkpoint(name)
    for old in (layout.sink(name), folder):
        remove_folder(old, missing_ok=True)
    source = ReplayInput(session, pipeline, folder / "input")
    output = ReplayOutput(session, pipeline, place, folder / "rows", keep)
    replayed = _Replay(session, run, folder / "checkpoint", source, output)
    replayed.exact = _unchanged(pipeline, steps)
    try:
        with (
            _set(session, _settings(pipeline, recomputation.generation)),
            past_statics(session, run, steps[-1].batch) as statics,
        ):
            output.leave(replayed.go_through(steps, statics))
    except PySparkException as error:
        raise from_spark(error) from error
    finally:
        remove_folder(folder, missing_ok=True)


@dataclass
class _Replay:
    """One of them.

    Args:
        output: What comes out.
        exact: Whether the watermarks are to be the ledger's.
    """

    session: SparkSession
    run: RunContext
    checkpoint: Path
    source: ReplayInput
    output: ReplayOutput
    exact: bool = True

    def go_through(self, steps: Sequence[Step], statics: StaticsOf) -> Plan:
        """Every batch in order.

        Args:
            steps: One at least.
            statics: The static inputs by their pins.

        Returns:
            The plan of the last.
        """
        pins = steps[0].batch.static
        read = statics(pins)
        planned = plan_rows(self.source.streams(), self.run.pipeline, read)
        for segment in segments(steps, by_start=self._minds_starts(planned)):
            first, last = segment[0], segment[-1]
            self.run.log(f"replaying batches {first.number} to {last.number} of {len(steps)}")
            if first.batch.static != pins:
                pins = first.batch.static
                read = statics(pins)
                planned = plan_rows(self.source.streams(), self.run.pipeline, read)
            self.source.put(segment)
            if first.number:
                self._set_watermark(first, is_last=first is steps[-1])
            with persisted(self.run.pipeline, read):
                self._run(planned)
            self._compare(segment)
        return planned

    def _run(self, planned: Plan) -> None:
        """One start of the query, over what is laid out."""
        self.session.conf.set(STATE_ENCODING, planned.state_encoding)
        callback_errors.take(self.output.place.generation)
        query = (
            planned.rows.writeStream.outputMode(self.run.pipeline.spec.output.mode)
            .option("checkpointLocation", str(self.checkpoint))
            .queryName(self.output.place.generation)
            .trigger(availableNow=True)
            .foreachBatch(self.output)
            .start()
        )
        try:
            # How it ended is asked for below, as one of our errors.
            with suppress(StreamingQueryException):
                query.awaitTermination()
        finally:
            query.stop()
        failure = query_error(query)
        if failure is not None:
            raise failure

    def _minds_starts(self, planned: Plan) -> bool:
        """Whether it makes a difference where live started."""
        plan = Catalyst(self.session).inlined(analysed(planned.rows))
        several = sum(kind(node) == "EventTimeWatermark" for node in nodes(plan)) > 1
        return several and self.session.conf.get(POLICY) == "min"

    def _set_watermark(self, step: Step, *, is_last: bool) -> None:
        """The watermark of the first batch of a start, where it is another than its rows made."""
        checkpoint = read_checkpoint(self.checkpoint)
        reached_ms = checkpoint.commits[step.number - 1].next_watermark_ms
        recorded_ms = step.batch.watermark_before_ms
        watermark_ms = reached_ms
        if self.exact:
            watermark_ms = recorded_ms
        elif is_last:
            watermark_ms = max(reached_ms, recorded_ms)
        elif step.flush is not None:
            watermark_ms = max(reached_ms, step.flush.watermark_ms)
        if watermark_ms != reached_ms:
            put_watermark(self.checkpoint / "commits", step.number - 1, watermark_ms)

    def _compare(self, segment: Sequence[Step]) -> None:
        """Go by the rows' own watermarks from where they differ from live's."""
        if not self.exact:
            return
        planned = read_checkpoint(self.checkpoint).offsets
        for step in segment:
            here, there = planned[step.number].watermark_ms, step.batch.watermark_before_ms
            if here != there:
                self.exact = False
                self.run.log(
                    f"batch {step.number}: the watermark is {as_time(here)}, and was "
                    f"{as_time(there)}: something that the transform uses has changed"
                )
                return


def _unchanged(pipeline: Pipeline, steps: Sequence[Step]) -> bool:
    """Whether every batch was made with today's spec and transform, of all that it read."""
    today = (hash_of_spec(pipeline.spec), hash_of_file(pipeline.transform_file))
    return all(
        step.read.whole and (step.batch.spec_hash, step.batch.code_hash) == today for step in steps
    )


def _settings(pipeline: Pipeline, generation: str) -> dict[str, str]:
    """The generation's settings, which override those of the session."""
    note = read_note(pipeline.layout, generation)
    partitions = note.shuffle_partitions if note is not None else None
    offsets = read_checkpoint(pipeline.layout.checkpoint(generation)).offsets
    # Spark holds a checkpoint to the settings that it was born with.
    born = offsets[max(offsets)].conf if offsets else {}
    return {
        **born,
        **({SHUFFLE_PARTITIONS: str(partitions)} if partitions else {}),
        **NO_FURTHER_BATCH,
        UNION_OF_ONES: "false",
        # Otherwise Spark lists the files of some dozens of batches by a job with many tasks.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
        "spark.sql.streaming.minBatchesToRetain": str(2 * MOST_BATCHES),
    }


@contextmanager
def _set(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Settings for as long as the context lasts."""
    names = [name for name in (*settings, STATE_ENCODING) if session.conf.isModifiable(name)]
    before = {name: session.conf.get(name, None) for name in names}
    for name in names:
        if name in settings:
            session.conf.set(name, settings[name])
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, value)
