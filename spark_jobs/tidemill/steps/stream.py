"""Stream: runs a pipeline's query until it is stopped, with any trigger, outside a schedule.

It holds the pipeline's lease for as long as it lives, so that a scheduled run meanwhile is told
who holds it. For a pipeline that publishes it only ingests: gate and publish judge a sealed
increment under the same lease, and what a stream committed is for the next run to seal.
"""

from tidemill.contract.errors import UsageError
from tidemill.engine.run.options import RunOptions
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sinks import ConsoleSink
from tidemill.spec.stream_trigger import StreamTrigger, refuse_unsupported
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.live_ingest import ended
from tidemill.steps.parts.overdue import FeedOverdue
from tidemill.steps.parts.run import Ended
from tidemill.storage.lease import STREAM
from tidemill.storage.run_context import RunContext


class NothingToShow(UsageError):
    """The rows of a continuous query cannot be shown; carries `sink`."""


def stream(run: RunContext, options: RunOptions) -> Ended:
    """Run a pipeline's query until it ends or is stopped.

    Args:
        run: A run of its own; its report is that of an ingest.
        options: With a trigger, and when to stop.

    Raises:
        TriggerUnsupported: Spark does not run this pipeline with the trigger.
        Refused: going on would lose rows in silence.
        LeaseHeld: another live process writes to this pipeline.
        QueryFailed: the query failed in a way that a retry will meet again.
        QueryInterrupted: a retry may help.
    """
    pipeline = run.pipeline
    trigger = options.trigger_of(pipeline.spec.trigger)
    refuse_unsupported(trigger, pipeline.spec)
    if trigger.continuous and options.show is not None:
        _refuse_to_show(pipeline)
    _look(run, trigger)
    # Spark is imported here so that a stream that is refused never loads it.
    from tidemill.engine.run import ingest as engine
    from tidemill.engine.session import open_session

    with run.hold(STREAM) as held:
        session = open_session(pipeline, "stream", for_days=True)
        run.log(f"stream of {pipeline.name} with the trigger {trigger}, run {run.run_id}")
        if trigger.continuous:
            run.log("continuous: at least once; a rejected row ends the query, as none is counted")
        found = engine.ingest(session, held, options)
    if pipeline.spec.published and found.batches:
        run.log("the next run seals, judges and publishes what was committed")
    return ended(found)


def explain(pipeline: Pipeline) -> str:
    """The extended plan of a pipeline's query, which is not started.

    Raises:
        SpecError: schema, expressions or transform do not fit together.
        QueryFailed: Spark refuses the plan.
    """
    from pyspark.errors import PySparkException

    from tidemill.engine.query.build import plan
    from tidemill.engine.session import open_session
    from tidemill.engine.sources.static_inputs import statics_now
    from tidemill.engine.spark_errors import from_spark
    from tidemill.engine.spark_internals.plan import explained

    session = open_session(pipeline, "explain")
    try:
        with statics_now(session, pipeline) as statics:
            return explained(plan(session, pipeline, statics).rows)
    except PySparkException as error:
        raise from_spark(error) from error


def _look(run: RunContext, trigger: StreamTrigger) -> None:
    """The doctor's proofs; that there is nothing to do is not a reason for a stream not to wait."""
    try:
        doctor(run, continuous=trigger.continuous, follow=False)
    except FeedOverdue as overdue:
        run.log(f"warning: {overdue}")


def _refuse_to_show(pipeline: Pipeline) -> None:
    sink = pipeline.spec.sink
    if sink is None or isinstance(sink, ConsoleSink):
        return
    raise NothingToShow(
        f"The rows that go to {sink.kind} cannot be shown: a continuous query reports none.",
        remedy="Leave out --show, take --trigger processing-time=1s, or the sink {kind: console}.",
        sink=sink.kind,
    )
