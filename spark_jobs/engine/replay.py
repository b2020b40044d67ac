"""Replay: the transform run as a stream over the ledger's batches, into a scratch generation.

Of deduplications, outer joins, timers and first or last values a batch job gives something else
than the stream did, or is refused by Spark. So the batches are gone through once more as live went
through them: the same input in each (or none), the same watermarks, flushes and static inputs. What
counts as late stays late. Batch n of the replay is batch n of the ledger, and nothing follows the
last.

Where nothing is left out and spec and transform are those of every batch, the watermarks are the
ledger's. Else they are what the rows make of them, up to the last batch, whose watermark is at
least live's: of what live takes for final nothing is missing then.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

from spark_jobs.contract.errors import Refused
from spark_jobs.contract.event_time import as_time
from spark_jobs.contract.output import OutputMode
from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.engine import raised
from spark_jobs.engine.binding import SHUFFLE_PARTITIONS
from spark_jobs.engine.catalyst import Catalyst, analysed, kind, nodes
from spark_jobs.engine.progress import of_spark, why
from spark_jobs.engine.query import Plan, plan_rows
from spark_jobs.engine.refusals import STATE_ENCODING
from spark_jobs.engine.replay_input import UNION_OF_ONES, ReplayInput, left_out
from spark_jobs.engine.replay_output import Keep, ReplayOutput
from spark_jobs.engine.segments import MOST_BATCHES, Step, segments, steps_of
from spark_jobs.engine.static import Statics, kept, read_statics
from spark_jobs.ledger.checkpoint import read_checkpoint
from spark_jobs.ledger.commit_log import put_watermark
from spark_jobs.ledger.made import Made, Place
from spark_jobs.ledger.note import hash_of_file, hash_of_spec, read_note
from spark_jobs.ledger.static_pin import StaticPin

Say = Callable[[str], None]

POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
# Nothing that live has not given out by the last batch.
NO_FURTHER_BATCH = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}


class NotReplayable(Refused):
    """A stream cannot be gone through again; carries `pipeline` and `why`."""


def replay(
    session: SparkSession, pipeline: Pipeline, made: Made, place: Place, keep: Keep, say: Say
) -> None:
    """Leave what batches 0 to `made.last` give out as files of a scratch generation's sink.

    Of mode `update` the last row of each key is left.

    Args:
        session: Opened with the pipeline's settings; they are afterwards what they were.
        pipeline: Whose.
        made: What is made again, of which generation.
        place: The scratch generation, whose sink is emptied first.
        keep: A filter of good and rejected rows, as `plan_rows` gives them.
        say: Gets a line for each start of the query.

    Raises:
        NotReplayable: in mode `complete`, or a batch read no static input that the spec names.
        InputGone: what a batch read cannot be read again.
        QueryFailed: the transform fails on it.
        QueryInterrupted: a retry may help.
    """
    layout = pipeline.layout
    if pipeline.spec.output.mode is OutputMode.COMPLETE:
        raise _refused(pipeline, "each batch of mode complete is the whole result")
    steps = steps_of(layout, made.generation, made.last)
    sink, scratch = layout.sink(place.generation), layout.checkpoint(place.generation)
    for folder in (sink, scratch):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    source = ReplayInput(session, pipeline, scratch / "input", left_out(layout, made))
    output = ReplayOutput(session, pipeline, place.generation, scratch / "rows", keep)
    exact = not source.touches(steps) and _unchanged(pipeline, steps)
    run = _Replay(session, pipeline, scratch / "checkpoint", source, output, exact, say)
    try:
        with _set(session, _settings(pipeline, made.generation)):
            planned = run.go_through(steps)
            if planned is not None:
                output.leave(planned)
    except PySparkException as error:
        raise of_spark(error) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@dataclass
class _Replay:
    """One of them.

    Args:
        session: To run it in.
        pipeline: Whose.
        checkpoint: Where the query keeps its own.
        source: The input.
        output: What comes out.
        exact: Whether the watermarks are to be the ledger's.
        say: Gets a line for each start.
    """

    session: SparkSession
    pipeline: Pipeline
    checkpoint: Path
    source: ReplayInput
    output: ReplayOutput
    exact: bool
    say: Say

    def go_through(self, steps: Sequence[Step]) -> Plan | None:
        """Every batch in order; the plan of the last, None where there was none."""
        if not steps:
            return None
        pins = self._pins(steps)
        statics = read_statics(self.session, self.pipeline, pins)
        planned = self._planned(statics)
        for segment in segments(steps, by_start=self._minds_starts(planned)):
            first, last = segment[0].number, segment[-1].number
            self.say(f"replaying batches {first} to {last} of {steps[-1].number + 1}")
            then, pins = pins, self._pins(steps[first:])
            if then != pins:
                statics = read_statics(self.session, self.pipeline, pins)
                planned = self._planned(statics)
            self.source.put(segment)
            if first:
                self._set_watermark(segment[0], is_last=last == steps[-1].number)
            with kept(self.pipeline, statics):
                self._run(planned)
            self._compare(segment)
        return planned

    def _run(self, planned: Plan) -> None:
        """One start of the query, over what is laid out."""
        self.session.conf.set(STATE_ENCODING, planned.state_encoding)
        raised.take(self.output.generation)
        query = (
            planned.rows.writeStream.outputMode(self.pipeline.spec.output.mode)
            .option("checkpointLocation", str(self.checkpoint))
            .queryName(self.output.generation)
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
        failure = why(query)
        if failure is not None:
            raise failure

    def _planned(self, statics: Statics) -> Plan:
        return plan_rows(self.source.streams(), self.pipeline, statics)

    def _minds_starts(self, planned: Plan) -> bool:
        """Whether it makes a difference where live started."""
        plan = Catalyst(self.session).inlined(analysed(planned.rows))
        several = sum(kind(node) == "EventTimeWatermark" for node in nodes(plan)) > 1
        return several and self.session.conf.get(POLICY) == "min"

    def _pins(self, steps: Sequence[Step]) -> Mapping[str, StaticPin]:
        """What the first of some batches read of the static inputs.

        Of one that it did not know, what was read of it first.
        """
        found = {}
        for name, static in self.pipeline.spec.statics.items():
            pins = (step.batch.static.get(name) for step in steps)
            pin = next((one for one in pins if one is not None and one.kind == static.kind), None)
            if pin is None:
                raise _refused(self.pipeline, f"no batch has read statics.{name} yet")
            found[name] = pin
        return found

    def _set_watermark(self, step: Step, *, is_last: bool) -> None:
        """The watermark of the first batch of a start, where it is another than its rows made."""
        checkpoint = read_checkpoint(self.checkpoint)
        reached = checkpoint.commits[step.number - 1].next_watermark_ms
        told = step.batch.watermark_before_ms
        wanted = reached
        if self.exact:
            wanted = told
        elif is_last:
            wanted = max(reached, told)
        elif step.flush is not None:
            wanted = max(reached, step.flush.watermark_ms)
        if wanted != reached:
            put_watermark(self.checkpoint / "commits", step.number - 1, wanted)

    def _compare(self, segment: Sequence[Step]) -> None:
        """Go by the rows' own watermarks from where they differ from live's."""
        if not self.exact:
            return
        planned = read_checkpoint(self.checkpoint).offsets
        for step in segment:
            here, there = planned[step.number].watermark_ms, step.batch.watermark_before_ms
            if here != there:
                self.exact = False
                self.say(
                    f"batch {step.number}: the watermark is {as_time(here)}, and was "
                    f"{as_time(there)}: something that the transform uses has changed"
                )
                return


def _unchanged(pipeline: Pipeline, steps: Sequence[Step]) -> bool:
    """Whether every batch was made with today's spec and transform."""
    today = (hash_of_spec(pipeline.spec), hash_of_file(pipeline.transform_file))
    return all((step.batch.spec_hash, step.batch.code_hash) == today for step in steps)


def _settings(pipeline: Pipeline, generation: str) -> dict[str, str]:
    """What a query of the generation goes by, whatever the session's own settings are."""
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


def _refused(pipeline: Pipeline, why: str) -> NotReplayable:
    return NotReplayable(
        f"{pipeline.name} cannot be gone through again: {why}.",
        remedy=f"Make all of it anew: tidemill rebuild {pipeline.name}.",
        pipeline=pipeline.name,
        why=why,
    )
