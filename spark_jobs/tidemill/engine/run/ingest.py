"""Ingest: one start of a pipeline's query, in the order in which it happens."""

from pyspark.sql import SparkSession

from tidemill.engine.query.ungated import starts_over
from tidemill.engine.run.around_query import fetch_input, make_ready, verify_unchanged
from tidemill.engine.run.bind import forget
from tidemill.engine.run.empty_batch import plan_due
from tidemill.engine.run.lost_state import run_with_state
from tidemill.engine.run.options import RunOptions
from tidemill.engine.run.query_run import QueryRun
from tidemill.engine.run.run_records import Ingested, RunRecords
from tidemill.engine.run.start_checks import StartChecks
from tidemill.engine.run.unfinished_batch import repeat_unfinished
from tidemill.engine.sources.static_inputs import pin_statics
from tidemill.generations.verify import open_generation
from tidemill.ledger.run_request import read_request
from tidemill.ledger.running_queries import clear_dead
from tidemill.ledger.static_pins import BatchTime
from tidemill.storage.run_context import LeasedRun


def _batch_time(run: LeasedRun) -> BatchTime:
    request = read_request(run.layout.run(run.run_id))
    return BatchTime(
        at=run.clock(),
        run_id=run.run_id,
        interval_start=request.interval_start,
        interval_end=request.interval_end,
    )


def ingest(session: SparkSession, run: LeasedRun, options: RunOptions | None = None) -> Ingested:
    """Run one pipeline's query, over what is there now unless its options say otherwise.

    Args:
        run: The run, which holds the lease until this returns.
        options: What differs from the spec.

    Raises:
        Refused: the generation's parts do not belong together.
        QueryFailed: the same error will come again.
        QueryInterrupted: a retry may help.
    """
    clear_dead(run.layout)
    fetch_input(run)
    if starts_over(run.pipeline.spec):
        forget(run.pipeline)
    generation = open_generation(run.pipeline)
    query = QueryRun(session, run, generation, options or RunOptions())
    checks = StartChecks(query)

    checks.execution()
    pins = pin_statics(run.pipeline, batch=_batch_time(run))
    planned, statics = query.plan(pins)
    checks.plan()
    records = RunRecords(query, planned, pins)
    records.bind()
    probes = checks.inputs(records.batches)
    records.start()
    probes = make_ready(session, run, probes, statics)

    records.count_late_rows()
    backlog = {probe.source: probe for probe in probes}
    repeated = repeat_unfinished(query, pins, backlog)
    plan_due(run, probes)
    with records.late_rows_of_a_failure():
        ran = run_with_state(query, pins, (planned, statics), backlog)
    verify_unchanged(run.pipeline)
    return records.finish(ran.after(repeated))
