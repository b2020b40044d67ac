"""The checks around a query that reads Kafka; imported only for such pipelines."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tidemill.contract.errors import TidemillError, TransientError
from tidemill.engine.sources.static_inputs import Statics
from tidemill.journal.takeovers import generation_of
from tidemill.sources.probe import probe_sources
from tidemill.sources.probe_result import ProbeResult
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.kafka import KafkaSource
from tidemill.storage.run_context import LeasedRun


def make_ready(
    session: SparkSession, run: LeasedRun, found: list[ProbeResult], statics: Statics
) -> list[ProbeResult]:
    """Before a query starts: pass over what was accepted, write down what will be read.

    Args:
        session: To pass over an accepted loss with.
        run: The run, whose start of this epoch is in the ledger.
        found: A look at every source, under the lease.
        statics: Static input -> its rows.

    Returns:
        A look at every source, a new one where something was passed over.

    Raises:
        Refused: something would be lost that the spec rates `hold` and no person accepted.
    """
    pipeline = run.pipeline
    if not _reads_kafka(pipeline):
        return found
    from tidemill.engine.run.pass_over_loss import pass_over
    from tidemill.sources.kafka.query_guard import kafka_looks, record

    kafka = kafka_looks(found)
    if pass_over(session, run, kafka, statics):
        found = probe_sources(pipeline, ())
        kafka = kafka_looks(found)
    record(pipeline, generation_of(pipeline), kafka, run.epoch)
    return found


def verify_unchanged(pipeline: Pipeline) -> None:
    """After a query has ended: the topics it read are those it began with.

    Raises:
        TopicRecreated: one is another one.
        TopicMissing: one was deleted.
        BrokerUnreachable: no answer in time.
    """
    if _reads_kafka(pipeline):
        from tidemill.sources.kafka.query_guard import verify_same_topics

        verify_same_topics(pipeline, generation_of(pipeline))


def explained(pipeline: Pipeline, failure: TidemillError) -> TidemillError:
    """A failed query's error, or what is wrong with the topics or the broker if that is why.

    Spark says only that a range could not be read, and only in its log.
    """
    condition = str(failure.data.get("condition", ""))
    by_kafka = isinstance(failure, TransientError) or condition.startswith("KAFKA")
    if not by_kafka or not _reads_kafka(pipeline):
        return failure
    from tidemill.sources.kafka.query_guard import kafka_looks

    try:
        kafka_looks(probe_sources(pipeline, ()))
    except TidemillError as error:
        error.__cause__ = failure
        return error
    return failure


def _reads_kafka(pipeline: Pipeline) -> bool:
    return any(isinstance(source, KafkaSource) for source in pipeline.spec.sources.values())
