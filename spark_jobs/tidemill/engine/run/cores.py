"""Cores for a continuous or real-time query: one for each partition of its source, all at once."""

from __future__ import annotations

import os

from pyspark.sql import SparkSession

from tidemill.contract.connections.airflow import connection
from tidemill.contract.errors import UsageError
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.kafka import KafkaSource
from tidemill.spec.sources.testing import RateSource
from tidemill.spec.spec import Source
from tidemill.spec.stream_trigger import StreamTrigger


class TooFewCores(UsageError):
    """Some partitions would never be read; carries `cores`, `partitions` and `source`."""


def refuse_few_cores(session: SparkSession, pipeline: Pipeline, trigger: StreamTrigger) -> None:
    """Hold the session's cores against the partitions of a source whose tasks do not end.

    With fewer Spark starts what it can and waits, without an error (guide, "Continuous Processing",
    "Caveats"; a continuous query on 4.2 then cannot be stopped either).

    Args:
        session: That would run the query.
        trigger: Continuous or real time.

    Raises:
        TooFewCores: there are more partitions than cores.
        TransientError: the broker cannot be reached.
    """
    cores = session.sparkContext.defaultParallelism
    for name, source in pipeline.spec.sources.items():
        partitions = _partitions(name, source, cores)
        if partitions > cores:
            raise TooFewCores(
                f"sources.{name} has {partitions} partitions and Spark {cores} cores: the trigger "
                f"{trigger} needs a core for each partition, at all times.",
                remedy="Give Spark more cores (such as TIDEMILL_MASTER=local[8]), or take "
                "--trigger processing-time=1s.",
                source=name,
                cores=cores,
                partitions=partitions,
            )


def _partitions(name: str, source: Source, cores: int) -> int:
    if isinstance(source, KafkaSource):
        # Imported where it is used: a pipeline without Kafka needs no client.
        from tidemill.sources.kafka.broker import Broker
        from tidemill.sources.kafka.topics import topics_today

        topics = topics_today(name, source, Broker(connection(source.conn_id, os.environ)))
        return sum(len(topic.partitions) for topic in topics.values())
    if isinstance(source, RateSource):
        return source.numPartitions or cores
    return cores
