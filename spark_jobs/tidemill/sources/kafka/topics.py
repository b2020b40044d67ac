"""The topics that a source reads, and whether they are still the same ones.

Spark's checkpoint knows a topic by its name only. One that was deleted and made again under that
name is read on at the old offsets, and what is before them is skipped without a word
(failure-modes row 27). So the id of each topic is written down when it is first read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from tidemill.contract.clock import Clock, wall_clock
from tidemill.contract.counted import counted
from tidemill.contract.document import Document
from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.contract.syntax.java_regex import as_python
from tidemill.sources.kafka.broker import Broker, Topic
from tidemill.spec.sources.kafka import KafkaSource, Offsets
from tidemill.storage import documents


class TopicMissing(Refused):
    """A topic or partition that the spec names is not there; carries `source`, `missing`."""


class TopicRecreated(Refused):
    """A topic was deleted and made again; carries `source`, `topic`, `recorded` and `found`."""


class TopicDropped(Refused):
    """A topic or partition that was read is no longer in the spec; carries `source`, `dropped`."""


class TopicUnprotected(Refused):
    """A topic could be deleted and created again unnoticed; carries `source` and `topics`."""


class TopicRecord(Document):
    """A topic as it was when a source first read it."""

    source: str
    topic: str
    id: str | None
    cleanup_policy: tuple[str, ...]
    partitions: int
    recorded: datetime


def topics_today(name: str, source: KafkaSource, broker: Broker) -> dict[str, Topic]:
    """The partitions of the spec's subscription, by topic.

    Raises:
        TopicMissing: a topic that the spec names is not there.
    """
    if source.topics is None:
        pattern = re.compile(str(as_python(str(source.subscribePattern))))
        # Spark asks whether the pattern is found anywhere in a name.
        return broker.topics(n for n in broker.names() if pattern.search(n))
    found = broker.topics(source.topics)
    missing = [f"topic '{topic}'" for topic in source.topics if topic not in found]
    for topic, partitions in (source.assign or {}).items():
        there = found[topic].partitions if topic in found else partitions
        missing += [f"partition {n} of '{topic}'" for n in sorted({*partitions} - {*there})]
    if missing:
        raise TopicMissing(
            f"sources.{name}: there is no {missing[0]}.",
            remedy="Create it, or correct the spec; if it was deleted, its unread records are lost "
            "and a new one needs a new pipeline name.",
            source=name,
            missing=missing,
        )
    if source.assign is None:
        return found
    return {t: replace(found[t], partitions=ns) for t, ns in source.assign.items()}


def verify_topics(
    layout: Layout,
    generation: str,
    name: str,
    today: Mapping[str, Topic],
    position: Offsets,
) -> None:
    """Hold today's topics against those that were recorded and read.

    Raises:
        TopicRecreated: one has another id than it had.
        TopicDropped: something that was read is not among them.
    """
    for record in records_of(layout, generation, name):
        topic = today.get(record.topic)
        if topic is not None and topic.id and record.id and topic.id != record.id:
            raise TopicRecreated(
                f"sources.{name}: topic '{record.topic}' was deleted and made again since it was "
                f"first read on {record.recorded:%Y-%m-%d}; its old offsets mean nothing now.",
                remedy="Publish it under a new pipeline name, which reads it from the beginning; "
                "what was published stays as it is.",
                source=name,
                topic=record.topic,
                recorded=record.id,
                found=topic.id,
            )
    dropped = [
        f"{topic}/{partition}"
        for topic, ends in position.items()
        for partition in ends
        if topic not in today or partition not in today[topic].partitions
    ]
    if dropped:
        raise TopicDropped(
            f"sources.{name}: {dropped[0]} was read and is gone, or no longer in the spec "
            f"({counted(len(dropped), 'such partition')}).",
            remedy="Put it back into the spec; if it was deleted, go on under a new pipeline name.",
            source=name,
            dropped=dropped,
        )


def unprotected(
    layout: Layout, generation: str, name: str, today: Mapping[str, Topic]
) -> TopicUnprotected | None:
    """The warning about topics without an id, today or when they were first read.

    Args:
        generation: The one that reads them.
    """
    without_id = {topic.name for topic in today.values() if topic.id is None}
    without_id |= {r.topic for r in records_of(layout, generation, name) if r.id is None}
    topics = sorted(without_id & {*today})
    if not topics:
        return None
    return TopicUnprotected(
        f"sources.{name}: the broker gives, or gave when it was first read, no id for topic "
        f"'{topics[0]}' ({len(topics)} such): a deletion would go unnoticed, and "
        "records are passed over.",
        remedy="Topics have ids from Kafka 2.8 on. Until then do not delete the topic: give a new "
        "one a new name.",
        source=name,
        topics=topics,
    )


def record_topics(
    layout: Layout,
    generation: str,
    name: str,
    today: Mapping[str, Topic],
    clock: Clock = wall_clock,
) -> None:
    """Write down what the topics are that a query is about to read; under the lease."""
    for topic in today.values():
        record = TopicRecord(
            source=name,
            topic=topic.name,
            id=topic.id,
            cleanup_policy=topic.cleanup_policy,
            partitions=len(topic.partitions),
            recorded=clock(),
        )
        documents.put_if_absent(_folder(layout, generation) / f"{name}.{topic.name}.json", record)


def records_of(layout: Layout, generation: str, name: str) -> Iterator[TopicRecord]:
    """The topics of a source as they were when it first read them."""
    folder = _folder(layout, generation)
    # A source's name has no dot.
    for file in sorted(folder.glob(f"{name}.*.json")):
        record = documents.read(file, TopicRecord)
        if record is not None:
            yield record


def _folder(layout: Layout, generation: str) -> Path:
    return layout.ledger(generation) / "topics"
