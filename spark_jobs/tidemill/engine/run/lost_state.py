"""Computes again the state that lost or damaged files held, and lets the query go on with it.

A file system may lose what a query wrote last, and a driver on another host that was paused may put
its own file over it. What the ledger knows stays as it is: the last batches are run again on a
scratch checkpoint, by their plans, and only their state is taken.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import sleep

from tidemill.contract.errors import TidemillError, TransientError
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.engine import callback_errors
from tidemill.engine.query.planned_query import Plan
from tidemill.engine.run.follow import STEP_SECONDS
from tidemill.engine.run.new_schemas import run_to_the_end
from tidemill.engine.run.query_run import QueryRun, Ran
from tidemill.engine.sinks.start import sink_rows
from tidemill.engine.sources.static_inputs import Pins, Statics, persisted
from tidemill.engine.spark_errors import from_spark, query_error
from tidemill.engine.spark_internals.java_errors import SPARK_ERRORS
from tidemill.engine.spark_internals.query_state import at_work
from tidemill.engine.state_damage import StateDamaged, explain_state
from tidemill.generations.generation import Generation
from tidemill.generations.verify import open_generation
from tidemill.ledger.batch import Batch
from tidemill.ledger.batch_times import with_batch_time
from tidemill.ledger.generation_note import hash_of_file, hash_of_spec
from tidemill.ledger.static_pins import StaticPin
from tidemill.sources.probe_result import ProbeResult
from tidemill.spark_logs.scratch_checkpoint import ScratchCheckpoint
from tidemill.spark_logs.state_versions import newest_whole
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.folders import remove_folder


def run_with_state(
    query: QueryRun, pins: Pins, planned: tuple[Plan, Statics], backlog: Mapping[str, ProbeResult]
) -> Ran:
    """Run a query to its end; where files of its state are lost, compute them again first.

    Args:
        pins: What the query was planned with.
        planned: The query and its static inputs, as `QueryRun.plan` gives them.
        backlog: Source -> what waits there.

    Raises:
        StateDamaged: they cannot be computed again; the log says why.
        QueryFailed: the same error will come again.
        QueryInterrupted: a retry may help.
    """
    before = query.generation.ledger.latest()
    try:
        return run_to_the_end(query, pins, planned, backlog)
    except StateDamaged as error:
        damaged = error
    generation = open_generation(query.context.pipeline)
    query = replace(query, generation=generation)
    # Not while the error is handled: raised again there, it would be its own cause.
    _LostState(query, pins, damaged).compute_again()
    ran = run_to_the_end(query, pins, planned, backlog)
    return replace(ran, batches=tuple(generation.ledger.batches(before + 1)))


def pins_of(pipeline: Pipeline, generation: Generation, batch: int, today: Pins) -> Pins:
    """The static inputs that a batch was planned with.

    Args:
        today: Those of now, which stand in for what the spec reads from elsewhere since.
    """
    ledger, names = generation.ledger, pipeline.spec.batch_statics
    then = with_batch_time(ledger.pins_of(batch), names, ledger, batch)
    return {name: _same_kind(then.get(name), pin) for name, pin in today.items()}


def _same_kind(then: StaticPin | None, now: StaticPin) -> StaticPin:
    """The pin of a static input, unless the spec now reads it from elsewhere."""
    return then if then is not None and then.kind == now.kind else now


@dataclass(frozen=True)
class _LostState:
    """The state of a query that failed over it.

    Args:
        query: The query, with its generation as it is after the failure.
        today: The static inputs as they are now.
        damaged: The error that names the files.
    """

    query: QueryRun
    today: Pins
    damaged: StateDamaged

    def compute_again(self) -> None:
        """Put whole files in place of those that are lost.

        Raises:
            StateDamaged: that cannot be done.
            TransientError: a retry may do it.
        """
        run, generation = self.query.context, self.query.generation
        files, last = self.damaged.data["files"], generation.committed + 1
        checkpoint = generation.checkpoint.path
        version = newest_whole(checkpoint, last, files)
        if version is None:
            raise self._refused("no earlier state is whole")
        batches = generation.ledger.batches(version, generation.committed)
        why = _obstacle(run.pipeline, generation, batches)
        if why is not None:
            raise self._refused(why)
        run.log(
            f"damaged or gone: {', '.join(map(str, files))}; the state is computed again, from "
            f"batch {version} to {generation.committed}"
        )
        # `tidemill vacuum` knows it by its name.
        name = f"state-{uuid.uuid4().hex[:8]}"
        scratch = ScratchCheckpoint(checkpoint, run.layout.checkpoint(name), version)
        try:
            scratch.begin(files)
            for batch in batches:
                scratch.plan(batch.batch)
                self._run(scratch, batch.batch)
            run.lease.check()
            scratch.hand_over(last, files)
        finally:
            remove_folder(scratch.path, missing_ok=True)

    def _run(self, scratch: ScratchCheckpoint, batch: int) -> None:
        """Run one batch for its state; its rows go nowhere."""
        pipeline = self.query.context.pipeline
        pins = pins_of(pipeline, self.query.generation, batch, self.today)
        planned, statics = self.query.plan(pins)
        callback_errors.take(pipeline.name)
        try:
            with persisted(pipeline, statics):
                query = (
                    sink_rows(planned, pipeline)
                    .writeStream.outputMode(pipeline.spec.output.mode)
                    .option("checkpointLocation", str(scratch.path))
                    .queryName(pipeline.name)
                    .format("noop")
                    # It takes no other batch after the one that is planned.
                    .trigger(once=True)
                    .start()
                )
                try:
                    while at_work(query):
                        sleep(STEP_SECONDS)
                finally:
                    query.stop()
        except SPARK_ERRORS as error:
            raise self._failed(from_spark(error), scratch) from error
        failure = query_error(query)
        if failure is not None:
            raise self._failed(failure, scratch)
        if not scratch.has_run(batch):
            raise self._refused(f"batch {batch} did not run again")

    def _failed(self, failure: TidemillError, scratch: ScratchCheckpoint) -> TidemillError:
        """The error to raise for one that a batch ended with when it ran again."""
        failure = explain_state(self.query.context.pipeline, scratch.path.name, failure)
        if isinstance(failure, TransientError):
            return failure
        return self._refused(failure.what)

    def _refused(self, why: str) -> StateDamaged:
        self.query.context.log(f"the state cannot be computed again: {why}")
        return self.damaged


def _obstacle(pipeline: Pipeline, generation: Generation, batches: Sequence[Batch]) -> str | None:
    """Why some batches would not leave the state again that they left; None where they would."""
    if isinstance(generation.checkpoint.path, ObjectPath):
        return "what a store has acknowledged is there, unless somebody removed it"
    if not pipeline.spec.published or not generation.ledger.latest() >= generation.committed:
        return "the ledger does not know the batches"
    once = [name for name, source in pipeline.spec.sources.items() if not source.READS_AGAIN]
    if once:
        return f"sources.{once[0]} gives nothing twice"
    now = hash_of_spec(pipeline.spec), hash_of_file(pipeline.transform_file)
    for batch in batches:
        if batch.batch not in generation.checkpoint.offsets:
            return f"Spark has forgotten the plan of batch {batch.batch}"
        if (batch.spec_hash, batch.code_hash) != now:
            return f"spec or code are others than those of batch {batch.batch}"
        gone = [file.path for file in batch.inputs if not file.is_at(file.on_disk)]
        if gone:
            return f"{gone[0]} is gone, or was changed since batch {batch.batch} read it"
    return None
