"""One start of a pipeline's query, followed until it has stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from tidemill.contract.errors import SpecError, TidemillError
from tidemill.engine.query.build import plan
from tidemill.engine.query.planned_query import Plan, Watch
from tidemill.engine.query.refusals import refuse_endless
from tidemill.engine.query.row_counts import StageAttempts
from tidemill.engine.run.around_query import explained
from tidemill.engine.run.follow import Following
from tidemill.engine.run.listeners import listening
from tidemill.engine.run.options import RunOptions
from tidemill.engine.run.progress import Progress
from tidemill.engine.run.remaining import Remaining
from tidemill.engine.sinks.start import start
from tidemill.engine.sources.static_inputs import Pins, Statics, persisted, read_statics
from tidemill.engine.spark_errors import QueryInterrupted, from_spark, query_error
from tidemill.engine.spark_internals.java_errors import SPARK_ERRORS
from tidemill.engine.state_damage import explain_state
from tidemill.generations.generation import Generation
from tidemill.ledger.ledger import Batch
from tidemill.sources.probe_result import ProbeResult
from tidemill.spec.stream_trigger import StreamTrigger, TriggerKind
from tidemill.storage.disk_errors import named
from tidemill.storage.run_context import LeasedRun


class PlanRefused(SpecError):
    """Spark's analyser refuses a query as a whole; carries `trigger`."""


@dataclass(frozen=True)
class Ran:
    """The result of one start.

    Args:
        batches: New in the ledger.
        query_id: Spark's, which stays with the checkpoint.
        query_run_id: Spark's, of this start.
        stopped: Why it ended before the data did; None if it did not.
        observed: Batch -> the spec's own metrics of it.
        reports: Batch -> Spark's report on it.
    """

    batches: tuple[Batch, ...]
    query_id: str
    query_run_id: str
    stopped: str | None
    observed: Mapping[int, Mapping[str, Any]]
    reports: Mapping[int, Mapping[str, Any]]

    def after(self, first: Ran | None) -> Ran:
        """This start together with one before it."""
        if first is None:
            return self
        return replace(
            self,
            batches=(*first.batches, *self.batches),
            observed={**first.observed, **self.observed},
            reports={**first.reports, **self.reports},
        )


@dataclass(frozen=True)
class QueryRun:
    """A pipeline's query on its checkpoint.

    Args:
        context: The run; its log gets a line per batch.
        generation: The generation, already verified.
        options: What differs from the spec.
    """

    session: SparkSession
    context: LeasedRun
    generation: Generation
    options: RunOptions

    @property
    def trigger(self) -> StreamTrigger:
        return self.options.trigger_of(self.context.pipeline.spec.trigger)

    def plan(self, pins: Pins) -> tuple[Plan, Statics]:
        """The query, and the static inputs it is joined with.

        Raises:
            SpecError: the transform, or its result, cannot be run.
        """
        pipeline, trigger = self.context.pipeline, self.trigger
        sample = self.options.limit if self.options.show else 0
        try:
            statics = read_statics(self.session, pipeline, pins)
            planned = plan(self.session, pipeline, statics, Watch(trigger.continuous, sample))
            if trigger.kind is TriggerKind.AVAILABLE_NOW:
                refuse_endless(planned.rows, pipeline.transform_file)
            return planned, statics
        except PySparkException as error:
            raise from_spark(error) from error

    def run(self, planned: Plan, statics: Statics, backlog: Mapping[str, ProbeResult]) -> Ran:
        """Start it, and stay with it to its end.

        Args:
            statics: What it is joined with.
            backlog: Source -> what waits there.

        Raises:
            QueryFailed: the same error will come again.
            QueryInterrupted: a retry may help.
        """
        pipeline = self.context.pipeline
        held = self.generation.log.latest
        stages = StageAttempts(self.session.sparkContext)
        progress = Progress(Remaining(backlog), -1 if held is None else held, stages.repeated)
        with persisted(pipeline, statics), listening(self.session, self.context):
            query = self._started(planned)
            following = Following(self, planned, query, progress)
            try:
                written = following.to_the_end()
            finally:
                query.stop()
        failure = query_error(query)
        if failure is not None:
            failure = self._explained(failure)
            failure.data |= {"query_id": str(query.id), "query_run_id": str(query.runId)}
            raise failure
        ids = (str(query.id), str(query.runId))
        return Ran(tuple(written), *ids, following.stopped, progress.observed, progress.reports)

    def _explained(self, failure: TidemillError) -> TidemillError:
        """A failed query's error, or what is wrong around it if that is why."""
        pipeline = self.context.pipeline
        failure = explain_state(pipeline, self.generation.name, explained(pipeline, failure))
        if isinstance(failure, QueryInterrupted):
            failure = named(failure, pipeline.layout.home) or failure
        return failure

    def _started(self, planned: Plan) -> StreamingQuery:
        pipeline, trigger = self.context.pipeline, self.trigger
        try:
            return start(planned, self.context, self.generation.name, trigger)
        except AnalysisException as error:
            raise PlanRefused(
                f"{pipeline.spec_file}: Spark does not run this query with the trigger {trigger}: "
                f"{str(error).splitlines()[0]}",
                remedy="Change the transform, output.mode or the sink.",
                path=pipeline.spec_file,
                field="output",
                trigger=str(trigger),
            ) from error
        except SPARK_ERRORS as error:
            raise from_spark(error) from error
