"""Guards a query that reads Kafka: refusals before it, and a record of what it will read.

All of it happens under the lease, where no one else moves the source.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from tidemill.contract.connections.airflow import connection
from tidemill.sources.kafka.broker import Broker
from tidemill.sources.kafka.lag import record_arrivals
from tidemill.sources.kafka.probe import KafkaLook
from tidemill.sources.kafka.topics import record_topics, topics_today, verify_topics
from tidemill.sources.probe_result import ProbeResult, refuse_held
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.kafka import KafkaSource


def kafka_looks(found: Iterable[ProbeResult]) -> list[KafkaLook]:
    """The probe results of Kafka sources.

    Raises:
        Refused: the spec rates what one of them saw `hold`; the doctor may have looked before.
    """
    probes = [look for look in found if isinstance(look, KafkaLook)]
    for look in probes:
        refuse_held(look.problems)
    return probes


def record(pipeline: Pipeline, generation: str, probes: Iterable[KafkaLook], epoch: int) -> None:
    """Write down which topics a query is about to read, and how far they are.

    Args:
        generation: Such as `live-0001`.
        looks: At its Kafka sources.
        epoch: The epoch of the query's start.
    """
    for look in probes:
        record_topics(pipeline.layout, generation, look.source, look.today)
        seen = look.seen.model_copy(update={"epoch": epoch})
        record_arrivals(pipeline.layout, generation, look.source, seen)


def verify_same_topics(
    pipeline: Pipeline, generation: str, environ: Mapping[str, str] = os.environ
) -> None:
    """After a query: no topic was made again while it read.

    What it then read is committed, and no gate judges it as long as this is raised.

    Raises:
        TopicRecreated: one was.
        TopicMissing: one was deleted.
        BrokerUnreachable: no answer in time.
    """
    for name, source in pipeline.spec.sources.items():
        if isinstance(source, KafkaSource):
            today = topics_today(name, source, Broker(connection(source.conn_id, environ)))
            verify_topics(pipeline.layout, generation, name, today, {})
