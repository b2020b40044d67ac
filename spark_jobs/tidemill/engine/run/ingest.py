"""Ingest: runs the query until the available data is used up, and records what it committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidemill.compatibility.source_identity import verify_sources
from tidemill.contract.errors import TidemillError
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.engine.late.count import Lateness, earliest_ms
from tidemill.engine.query.build import plan
from tidemill.engine.query.planned_query import Plan, Watch
from tidemill.engine.query.refusals import refuse_endless
from tidemill.engine.query.ungated import starts_over
from tidemill.engine.run.bind import bind, forget, start_of
from tidemill.engine.run.cores import refuse_few_cores
from tidemill.engine.run.empty_batch import plan_due
from tidemill.engine.run.kafka_ready import make_ready, verify_unchanged
from tidemill.engine.run.options import RunOptions
from tidemill.engine.run.query_run import QueryRun, Ran
from tidemill.engine.run.state_metrics import StateFigures, state_figures
from tidemill.engine.shape.birth_comparison import refuse_changed_plan
from tidemill.engine.sources.static_inputs import Pins, Statics, pin_statics, read_statics
from tidemill.engine.spark_errors import of_spark
from tidemill.generations.execution import verify_execution
from tidemill.generations.verify import Generation, open_generation
from tidemill.ledger.late_rows import LateRows
from tidemill.ledger.ledger import Batch, Ledger
from tidemill.ledger.running_queries import clear_dead
from tidemill.ledger.source_record import bind_sources
from tidemill.ledger.static_pins import StaticPin, keep_copies
from tidemill.sources.files.report import refuse_held_files, report_files
from tidemill.sources.probe import probe_sources
from tidemill.sources.probe_result import ProbeResult
from tidemill.spark_logs.checkpoint import first_write_leftovers
from tidemill.spec.event_time import as_time
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.stream_trigger import StreamTrigger, TriggerKind
from tidemill.storage.run_context import LeasedRun


@dataclass(frozen=True)
class Ingested:
    """The result of a query.

    Args:
        batches: New in the ledger, those of a driver that died included.
        query_id: Spark's, which stays with the checkpoint.
        query_run_id: Spark's, of this start.
        stopped: Why it ended before the data did, such as `budget.max_batches`; None if it did not.
        left: What its budget left unread.
        files: The report on each file source.
        observed: Batch -> the spec's own metrics of it.
        late: The late rows of batches that were not counted before.
        state: What the query keeps after its last batch; None where it keeps nothing.
    """

    batches: tuple[Batch, ...]
    query_id: str
    query_run_id: str
    stopped: str | None = None
    left: tuple[ProbeResult, ...] = ()
    files: tuple[ProbeResult, ...] = ()
    observed: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    late: tuple[LateRows, ...] = ()
    state: StateFigures | None = None


def ingest(session: SparkSession, run: LeasedRun, manner: RunOptions | None = None) -> Ingested:
    """Run one pipeline's query, over what is there now unless its manner says otherwise.

    Args:
        session: Opened with `engine_conf`.
        lease: Held by the caller for as long as this runs.
        manner: How, where that is not as the spec says.

    Raises:
        Refused: the generation's parts do not belong together.
        QueryFailed: the same error will come again.
        QueryInterrupted: a retry may help.
    """
    pipeline = run.pipeline
    manner = manner or RunOptions()
    trigger = manner.trigger_of(pipeline.spec.trigger)
    clear_dead(pipeline.layout)
    if starts_over(pipeline.spec):
        forget(pipeline)
    generation = open_generation(pipeline)
    verify_execution(generation, continuous=trigger.continuous)
    if not trigger.by_batch:
        refuse_few_cores(session, pipeline, trigger)
    pins = pin_statics(pipeline)
    planned, statics = _planned(session, pipeline, pins, manner, trigger)
    refuse_changed_plan(session, pipeline, generation.note)
    written = _bound(run, generation, planned, trigger)
    batches = generation.ledger.batches()
    verify_sources(pipeline.layout, generation.name, pipeline.spec, batches)
    found = probe_sources(pipeline, batches)
    refuse_held_files(pipeline.spec, found)
    run.lease.check()
    generation.ledger.start(start_of(run, generation, planned, pins))
    found = make_ready(session, run, found, statics)
    backlog = {look.source: look for look in found}
    query = QueryRun(session, run, generation)
    stateful = planned.pipeline_class is not PipelineClass.MAP and trigger.by_batch
    lateness = Lateness(session, run, generation.ledger) if stateful else None
    late = lateness.count() if lateness else []
    again = _run_again(query, pins, manner, trigger, backlog)
    due = plan_due(open_generation(pipeline), found, run.clock())
    if due is not None:
        run.log(f"a batch without input works off what is due at the watermark {as_time(due)}")
    try:
        ran = query.run(planned, statics, trigger, manner, backlog)
    except TidemillError:
        # Count now: with other code the late rows cannot be identified.
        if lateness:
            with suppress(TidemillError):
                lateness.count()
        raise
    written += [*(again.batches if again else ()), *ran.batches]
    verify_unchanged(pipeline)
    reports = {**(again.reports if again else {}), **ran.reports}
    late += lateness.count(earliest_ms(reports, planned.rows)) if lateness else []
    mine = {batch.batch for batch in written}
    before = [batch for batch in batches if batch.batch not in mine]
    files = report_files(run, before, written)
    if pipeline.generation is None:
        # Beside one that is being built a live run may have copied what no batch names yet.
        _forget_copies(generation, pins, [*before, *written])
    stopped, left = _left(pipeline, generation, ran.stopped)
    return Ingested(
        tuple(written),
        ran.query_id,
        ran.query_run_id,
        stopped,
        left,
        tuple(files),
        {**(again.observed if again else {}), **ran.observed},
        tuple(late),
        state_figures(reports),
    )


def _run_again(
    query: QueryRun,
    today: Pins,
    manner: RunOptions,
    trigger: StreamTrigger,
    backlog: Mapping[str, ProbeResult],
) -> Ran | None:
    """Run a batch that was planned and not committed with the static inputs it was planned with.

    Its files may be there already: its state would else be made of another static side than they.
    It runs alone, by the trigger `once`, which takes no other batch after it.
    """
    pipeline = query.context.pipeline
    if not today or not trigger.by_batch:
        return None
    generation = open_generation(pipeline)
    if not generation.unfinished:
        return None
    then = generation.ledger.pins_of(generation.planned)
    pins = {name: _same_kind(then.get(name), pin) for name, pin in today.items()}
    if pins == today:
        return None
    query.context.log(
        f"batch {generation.planned} runs again with the static inputs it was planned with"
    )
    planned, statics = _planned(query.session, pipeline, pins, manner, trigger)
    once = StreamTrigger(TriggerKind.ONCE)
    return query.run(planned, statics, once, replace(manner, trigger=once), backlog)


def _same_kind(then: StaticPin | None, now: StaticPin) -> StaticPin:
    """The pin of a static input, unless the spec now reads it from elsewhere."""
    return then if then is not None and then.kind == now.kind else now


def _forget_copies(generation: Generation, pins: Pins, batches: Sequence[Batch]) -> None:
    """Remove the copies of static inputs that no batch has read.

    A batch that is planned and not committed was planned by this run, which has `pins`. What other
    generations were started with stays: one of them may be read again, or is being built.
    """
    if not pins:
        return
    layout = generation.ledger.layout
    others = [path.name for path in (layout.home / "ledger").iterdir()]
    starts = [
        s for other in others if other != generation.name for s in Ledger(layout, other).starts()
    ]
    for name, pin in pins.items():
        read = [batch.static[name] for batch in batches if name in batch.static]
        read += [start.static[name] for start in starts if name in start.static]
        keep_copies(layout.statics / name, [*read, pin])


def _left(
    pipeline: Pipeline, generation: Generation, stopped: str | None
) -> tuple[str | None, tuple[ProbeResult, ...]]:
    """Why a query was stopped, and what it left; a budget that was just enough stopped nothing."""
    if stopped is None or not stopped.startswith("budget."):
        return stopped, ()
    left = tuple(probe_sources(pipeline, generation.ledger.batches()))
    return (None, ()) if all(look.new == 0 for look in left) else (stopped, left)


def _planned(
    session: SparkSession,
    pipeline: Pipeline,
    pins: Pins,
    manner: RunOptions,
    trigger: StreamTrigger,
) -> tuple[Plan, Statics]:
    """The query, and what it is joined with."""
    sample = manner.limit if manner.show else 0
    try:
        statics = read_statics(session, pipeline, pins)
        planned = plan(session, pipeline, statics, Watch(trigger.continuous, sample))
        if trigger.kind is TriggerKind.AVAILABLE_NOW:
            refuse_endless(planned.rows, pipeline.transform_file)
        return planned, statics
    except PySparkException as error:
        raise of_spark(error) from error


def _bound(
    run: LeasedRun, generation: Generation, planned: Plan, trigger: StreamTrigger
) -> list[Batch]:
    """Put down what belongs to the query; the batches of an earlier driver are returned."""
    note = bind(run, generation, planned, continuous=trigger.continuous)
    for leftover in first_write_leftovers(note.checkpoint, generation.log):
        run.log(f"removing {leftover}: left by a driver that died in its very first write")
        leftover.unlink()
    bind_sources(run.layout, generation.name, run.pipeline.spec)
    written = generation.ledger.complete()
    for batch in written:
        run.log(f"batch {batch.batch}: committed by an earlier driver, now in the ledger")
    return written
