"""The offsets of a source's topics: what the broker holds, and where the source reads on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tidemill.journal.takeovers import generation_of
from tidemill.ledger.batch import Batch
from tidemill.sources.kafka.broker import Broker, Topic
from tidemill.sources.kafka.position import Position, position_of
from tidemill.sources.kafka.starting_offsets import beginning_of
from tidemill.sources.kafka.topics import topics_today, verify_topics
from tidemill.spark_logs.offset_ranges import Range, between, merged
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.kafka import KafkaSource, Offsets


@dataclass(frozen=True)
class TopicOffsets:
    """Where the topics and the source stand.

    Args:
        today: Topic -> what it is.
        read: Where the source reads on; None before its first query.
        begin: The first offsets that the topics hold.
        start: The offsets that the source reads on from.
        ends: The offsets after the last records.
        moves: Whether a first query would begin elsewhere at another time.
    """

    today: Mapping[str, Topic]
    read: Position | None
    begin: Offsets
    start: Offsets
    ends: Offsets
    moves: bool

    @property
    def partitions(self) -> dict[str, tuple[int, ...]]:
        return {topic.name: topic.partitions for topic in self.today.values()}

    @cached_property
    def position(self) -> Offsets:
        return _furthest(self.start, self.begin)

    @cached_property
    def gone(self) -> tuple[Range, ...]:
        """Unread records that expired."""
        return between(self.start, self.begin)

    @cached_property
    def unread(self) -> tuple[Range, ...]:
        return between(self.position, self.ends)


def topic_offsets(
    name: str, source: KafkaSource, pipeline: Pipeline, batches: Sequence[Batch], broker: Broker
) -> TopicOffsets:
    """Ask the broker, and compare the topics with what was read of them.

    Raises:
        BrokerUnreachable: no answer in time.
        TopicMissing: a topic that the spec names is not there.
        TopicRecreated: a topic is another one than was read.
        TopicDropped: the spec no longer names what was read.
    """
    layout, generation = pipeline.layout, generation_of(pipeline)
    today = topics_today(name, source, broker)
    read = position_of(layout, generation, name, batches)
    verify_topics(layout, generation, name, today, read.offsets if read else {})
    partitions = {topic.name: topic.partitions for topic in today.values()}
    begin = broker.offsets(partitions, "earliest")
    ends = broker.offsets(partitions, "latest")
    if read is None:
        beginning = beginning_of(name, source, broker, begin, ends)
        return TopicOffsets(today, read, begin, beginning.offsets, ends, beginning.moves)
    # Spark reads a partition that was added from its beginning, and wants that to be 0.
    start = merged({t: dict.fromkeys(ns, 0) for t, ns in partitions.items()}, read.offsets)
    return TopicOffsets(today, read, begin, start, ends, moves=False)


def _furthest(start: Offsets, begin: Offsets) -> Offsets:
    """The offsets at which reading can begin, after what is gone."""
    return {
        topic: {number: max(offset, start[topic][number]) for number, offset in offsets.items()}
        for topic, offsets in begin.items()
    }
