"""Ingest: run the query until the available data is used up, and write down what it committed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from spark_jobs.contract.errors import SpecError
from spark_jobs.contract.event_time import as_time
from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.contract.stream_trigger import StreamTrigger
from spark_jobs.engine.binding import bind, forget, start_of
from spark_jobs.engine.cores import refuse_few_cores
from spark_jobs.engine.due import plan_due
from spark_jobs.engine.follow import Following
from spark_jobs.engine.kafka_ready import explained, make_ready, prove_unchanged
from spark_jobs.engine.manner import Manner
from spark_jobs.engine.progress import Progress, of_spark, why
from spark_jobs.engine.query import Plan, plan
from spark_jobs.engine.sink import start
from spark_jobs.engine.ungated import Watch, begins_anew
from spark_jobs.ledger.batches import Batch
from spark_jobs.ledger.bound_source import bind_sources, prove_sources
from spark_jobs.ledger.checkpoint import first_write_leftovers
from spark_jobs.ledger.execution import prove_execution
from spark_jobs.ledger.generation import Generation, open_generation
from spark_jobs.ledger.input_report import refuse_held_files, report_files
from spark_jobs.ledger.lease import Lease
from spark_jobs.ledger.look import Look
from spark_jobs.ledger.looks import looks
from spark_jobs.ledger.running import clear_dead

Say = Callable[[str], None]


class PlanRefused(SpecError):
    """Spark's analyser refuses a query as a whole; carries `trigger`."""


@dataclass(frozen=True)
class Ingested:
    """What came of a query.

    Args:
        batches: New in the ledger, those of a driver that died included.
        query_id: Spark's, which stays with the checkpoint.
        query_run_id: Spark's, of this start.
        stopped: Why it ended before the data did, such as `budget.max_batches`; None if it did not.
        left: What its budget left unread.
        files: The report on each file source.
    """

    batches: tuple[Batch, ...]
    query_id: str
    query_run_id: str
    stopped: str | None = None
    left: tuple[Look, ...] = ()
    files: tuple[Look, ...] = ()


def ingest(
    session: SparkSession,
    pipeline: Pipeline,
    lease: Lease,
    run_id: str,
    say: Say,
    manner: Manner | None = None,
) -> Ingested:
    """Run one pipeline's query, over what is there now unless its manner says otherwise.

    Args:
        session: Opened with `engine_conf`.
        pipeline: What to run.
        lease: Held by the caller for as long as this runs.
        run_id: Of the DAG run.
        say: Gets a line per batch, for the task log.
        manner: How, where that is not as the spec says.

    Raises:
        Refused: the generation's parts do not belong together.
        QueryFailed: the same error will come again.
        QueryInterrupted: a retry may help.
    """
    manner = manner or Manner()
    trigger = manner.trigger_of(pipeline.spec.trigger)
    clear_dead(pipeline.layout)
    if begins_anew(pipeline.spec):
        forget(pipeline)
    generation = open_generation(pipeline)
    prove_execution(generation, continuous=trigger.continuous)
    if not trigger.by_batch:
        refuse_few_cores(session, pipeline, trigger)
    planned = _planned(session, pipeline, manner, trigger)
    written = _bound(pipeline, generation, planned, trigger, say)
    batches = generation.ledger.batches()
    prove_sources(pipeline.layout, generation.name, pipeline.spec, batches)
    found = looks(pipeline, batches)
    refuse_held_files(pipeline.spec, found)
    lease.check()
    generation.ledger.start(start_of(pipeline, generation, planned, lease, run_id))
    found = make_ready(session, pipeline, generation.name, found, lease, run_id, say)
    due = plan_due(open_generation(pipeline), found)
    if due is not None:
        say(f"a batch without input works off what is due at the watermark {as_time(due)}")
    backlog = {look.source: look for look in found}
    query = _started(planned, pipeline, generation, lease, run_id, trigger)
    following = Following(
        session, pipeline, planned, query, trigger, manner, generation.ledger, Progress(backlog)
    )
    try:
        written += following.to_the_end(run_id, say)
    finally:
        query.stop()
    failure = why(query)
    if failure is not None:
        failure = explained(pipeline, failure)
        failure.data |= {"query_id": str(query.id), "query_run_id": str(query.runId)}
        raise failure
    prove_unchanged(pipeline, generation.name)
    mine = {batch.batch for batch in written}
    before = [batch for batch in batches if batch.batch not in mine]
    files = report_files(pipeline.spec, before, written, say)
    stopped, left = _left(pipeline, generation, following.stopped)
    return Ingested(tuple(written), str(query.id), str(query.runId), stopped, left, tuple(files))


def _left(
    pipeline: Pipeline, generation: Generation, stopped: str | None
) -> tuple[str | None, tuple[Look, ...]]:
    """Why a query was stopped, and what it left; a budget that was just enough stopped nothing."""
    if stopped is None or not stopped.startswith("budget."):
        return stopped, ()
    left = tuple(looks(pipeline, generation.ledger.batches()))
    return (None, ()) if all(look.new == 0 for look in left) else (stopped, left)


def _planned(
    session: SparkSession, pipeline: Pipeline, manner: Manner, trigger: StreamTrigger
) -> Plan:
    sample = manner.limit if manner.show else 0
    try:
        return plan(session, pipeline, Watch(trigger.continuous, sample))
    except PySparkException as error:
        raise of_spark(error) from error


def _bound(
    pipeline: Pipeline,
    generation: Generation,
    planned: Plan,
    trigger: StreamTrigger,
    say: Say,
) -> list[Batch]:
    """Put down what belongs to the query; the batches of an earlier driver are returned."""
    note = bind(pipeline, generation, planned, continuous=trigger.continuous)
    for leftover in first_write_leftovers(note.checkpoint, generation.log):
        say(f"removing {leftover}: left by a driver that died in its very first write")
        leftover.unlink()
    bind_sources(pipeline.layout, generation.name, pipeline.spec)
    written = generation.ledger.complete()
    for batch in written:
        say(f"batch {batch.batch}: committed by an earlier driver, now in the ledger")
    return written


def _started(
    planned: Plan,
    pipeline: Pipeline,
    generation: Generation,
    lease: Lease,
    run_id: str,
    trigger: StreamTrigger,
) -> StreamingQuery:
    try:
        return start(planned, pipeline, generation.name, lease, run_id, trigger)
    except AnalysisException as error:
        raise PlanRefused(
            f"{pipeline.spec_file}: Spark does not run this query with the trigger {trigger}: "
            f"{str(error).splitlines()[0]}",
            remedy="Change the transform, output.mode or the sink.",
            path=pipeline.spec_file,
            field="output",
            trigger=str(trigger),
        ) from error
    except PySparkException as error:
        raise of_spark(error) from error
