"""Probes a Kafka source's topics: what waits there, and what Spark would skip; no JVM.

Spark notices expired records only when it reads them, and a topic that was made again only if it is
shorter than before (failure-modes rows 26 to 28).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tidemill.contract.clock import wall_clock
from tidemill.contract.connections.airflow import connection
from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.batch import Batch
from tidemill.ledger.losses import AcceptedLoss, Losses, expired
from tidemill.sources.falling_behind import falling_behind
from tidemill.sources.kafka.broker import Broker, Topic
from tidemill.sources.kafka.lag import Arrivals, falls_behind, last_arrivals
from tidemill.sources.kafka.position import Position
from tidemill.sources.kafka.sample import Sample, sample
from tidemill.sources.kafka.topic_offsets import TopicOffsets, topic_offsets
from tidemill.sources.kafka.topics import unprotected
from tidemill.sources.probe_result import ProbeResult, Problem
from tidemill.spark_logs.offset_ranges import Range, between, records_in
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.base import Rating
from tidemill.spec.sources.kafka import KafkaSource, Offsets

# The share of its retention that an unread record may have behind it.
OLD = 0.5


class PartitionShrunk(Refused):
    """A partition ends before what was read of it; carries `source`, `partitions`."""


class TopicCompacted(Refused):
    """A topic replaces old records by newer ones of their key; carries `source`, `topics`."""


class RecordsNearExpiry(Refused):
    """Unread records have half of their retention behind them; carries `source`, `oldest`."""


@dataclass(frozen=True, kw_only=True)
class KafkaProbeResult(ProbeResult):
    """A Kafka source as it is now.

    Args:
        today: Topic -> what it is.
        read: Where the source reads on; None before its first query.
        gone: Unread records that expired.
        accepted: A person's word that exactly those may be passed over.
        seen: How far the topics and the source are.
    """

    today: Mapping[str, Topic]
    read: Position | None
    gone: tuple[Range, ...]
    accepted: AcceptedLoss | None
    seen: Arrivals

    @property
    def passes_over_loss(self) -> bool:
        return self.accepted is not None


def probe(
    name: str,
    source: KafkaSource,
    pipeline: Pipeline,
    batches: Sequence[Batch],
    environ: Mapping[str, str],
) -> KafkaProbeResult:
    """Compare a source's topics with what was read of them.

    Raises:
        BrokerUnreachable: no answer in time.
        UsageError: the connection is wrong, or the starting offsets are.
        TopicMissing: a topic that the spec names is not there.
        TopicRecreated: a topic is another one than was read.
        TopicDropped: the spec no longer names what was read.
    """
    kafka = connection(source.conn_id, environ)
    broker = Broker(kafka, reads_committed=source.reads_committed)
    at = topic_offsets(name, source, pipeline, batches, broker)
    accepted = _accepted(name, pipeline, at.gone)
    first = sample(kafka, _firsts(at.unread), reads_committed=source.reads_committed)
    oldest, new = _time(first.oldest_ms), records_in(at.unread)
    seen = Arrivals(at=wall_clock(), ends=at.ends, position=at.position)
    problems = [
        _without_id(name, pipeline, at.today),
        _expired(name, source, pipeline, at.gone) if accepted is None else None,
        _shrunk(name, at.start, at.ends),
        _compacted(name, source, pipeline, at.today),
        _falling_behind(name, source, pipeline, seen, batches),
        _near_expiry(name, at.today, oldest, seen.at),
    ]
    return KafkaProbeResult(
        source=name,
        # A beginning that moves is noted by the first query, which must not wait for records.
        new=None if at.moves else new,
        unit="records",
        backlog_bytes=_bytes(new, first),
        oldest_new=oldest,
        last_arrival=_time(broker.newest_ms(at.partitions)),
        problems=tuple(problem for problem in problems if problem is not None),
        facts=_facts(at, accepted)
        | {
            "lag": new,
            "oldest_unread": oldest.isoformat() if oldest else None,
            "oldest_unread_seconds": (seen.at - oldest).total_seconds() if oldest else None,
        },
        today=at.today,
        read=at.read,
        gone=at.gone,
        accepted=accepted,
        seen=seen,
    )


def _accepted(name: str, pipeline: Pipeline, gone: Sequence[Range]) -> AcceptedLoss | None:
    """The acceptance of exactly what is gone."""
    waiting = Losses(pipeline.layout, generation_of(pipeline), name).waiting()
    return waiting if waiting is not None and gone and waiting.ranges == gone else None


def _without_id(name: str, pipeline: Pipeline, today: Mapping[str, Topic]) -> Problem | None:
    error = unprotected(pipeline.layout, generation_of(pipeline), name, today)
    return Problem(Rating.WARN, error) if error else None


def _facts(at: TopicOffsets, accepted: AcceptedLoss | None) -> dict[str, Any]:
    return {
        "topics": {
            topic.name: {"id": topic.id, "cleanup_policy": [*topic.cleanup_policy]}
            for topic in at.today.values()
        },
        "position": at.start,
        "ends": at.ends,
        "expired": [one.model_dump() for one in at.gone],
        "accepted_loss": accepted.number if accepted else None,
    }


def _expired(
    name: str, source: KafkaSource, pipeline: Pipeline, gone: Sequence[Range]
) -> Problem | None:
    if not gone:
        return None
    rating = Rating.HOLD if source.failOnDataLoss else Rating.WARN
    return Problem(rating, expired(name, pipeline.name, gone))


def _shrunk(name: str, start: Offsets, ends: Offsets) -> Problem | None:
    lost = between(ends, start)
    if not lost:
        return None
    return Problem(
        Rating.HOLD,
        PartitionShrunk(
            f"sources.{name}: {lost[0].topic}/{lost[0].partition} ends at offset "
            f"{lost[0].first:,} and was read up to {lost[0].until:,} ({len(lost)} such).",
            remedy="The broker lost records (an unclean election, an old backup): restore it, or "
            "go on under a new pipeline name.",
            source=name,
            partitions=[one.model_dump() for one in lost],
        ),
    )


def _compacted(
    name: str, source: KafkaSource, pipeline: Pipeline, today: Mapping[str, Topic]
) -> Problem | None:
    topics = [topic.name for topic in today.values() if "compact" in topic.cleanup_policy]
    if not topics:
        return None
    default = Rating.HOLD if pipeline.spec.published else Rating.WARN
    return Problem(
        source.compacted or default,
        TopicCompacted(
            f"sources.{name}: topic '{topics[0]}' has the cleanup policy compact: what was read "
            "cannot be read again.",
            remedy=f"Read a topic with the policy delete, or set sources.{name}.compacted: warn; "
            "a backfill may then find fewer records than the run did.",
            source=name,
            topics=topics,
        ),
    )


def _falling_behind(
    name: str,
    source: KafkaSource,
    pipeline: Pipeline,
    seen: Arrivals,
    batches: Sequence[Batch],
) -> Problem | None:
    past = last_arrivals(pipeline.layout, generation_of(pipeline), name)
    pace = falls_behind(past, seen, batches)
    return falling_behind(name, source.falling_behind, pace, _records)


def _records(number: float) -> str:
    return counted(round(number), "record")


def _near_expiry(
    name: str, today: Mapping[str, Topic], oldest: datetime | None, now: datetime
) -> Problem | None:
    kept = [topic.retention_ms for topic in today.values() if topic.retention_ms is not None]
    if not kept or oldest is None or now - oldest < OLD * timedelta(milliseconds=min(kept)):
        return None
    hours = min(kept) / 3_600_000
    return Problem(
        Rating.WARN,
        RecordsNearExpiry(
            f"sources.{name}: the oldest unread record is of {oldest:%Y-%m-%d %H:%M}, and the "
            f"topic keeps records for {hours:,.1f} hours.",
            remedy="Raise the topic's retention or run more often.",
            source=name,
            oldest=oldest,
            retention_ms=min(kept),
        ),
    )


def _firsts(unread: Sequence[Range]) -> Offsets:
    firsts: Offsets = {}
    for one in unread:
        firsts.setdefault(one.topic, {})[one.partition] = one.first
    return firsts


def _bytes(records: int, first: Sample) -> int | None:
    if not records:
        return 0
    return None if first.bytes_a_record is None else int(records * first.bytes_a_record)


def _time(milliseconds: int | None) -> datetime | None:
    if milliseconds is None:
        return None
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        # A producer says what it likes.
        return None
