"""Whether topics still hold the records that batches have read of them."""

import os
from collections.abc import Mapping, Sequence

from tidemill.contract.connections.airflow import connection
from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.sources.kafka.broker import Broker
from tidemill.sources.kafka.topics import records_of, verify_topics
from tidemill.spark_logs.offset_ranges import Range, joined
from tidemill.spec.sources.kafka import KafkaSource, Offsets


class RecordsGone(Refused):
    """Records that batches have read are not there any more; carries `source` and `ranges`."""


class RecordsReplaced(Refused):
    """A topic keeps the last record of each key only; carries `source` and `topics`."""


def verify_records(
    layout: Layout,
    generation: str,
    name: str,
    source: KafkaSource,
    ranges: Sequence[Range],
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Prove that topics still hold what batches read of them.

    Args:
        ranges: What was read.

    Raises:
        RecordsGone: a topic is not there, or begins later or ends earlier.
        RecordsReplaced: a topic is compacted: its offsets are there, older values are not.
        TopicRecreated: it is another topic of that name.
        TransientError: no broker answers.
    """
    if not ranges:
        return
    broker = Broker(connection(source.conn_id, environ), reads_committed=source.reads_committed)
    found = broker.topics({one.topic for one in ranges})
    compacted = sorted(
        {one.name for one in found.values() if "compact" in one.cleanup_policy}
        # What was replaced while it was so stays replaced.
        | {r.topic for r in records_of(layout, generation, name) if "compact" in r.cleanup_policy}
    )
    if compacted:
        raise RecordsReplaced(
            f"sources.{name}: topic '{compacted[0]}' is compacted, so that older records of a key "
            "are gone, and what batches made of them cannot be computed again.",
            remedy="Land the topic in a pipeline of its own first, and compute from its table.",
            source=name,
            topics=compacted,
        )
    verify_topics(layout, generation, name, found, {})
    places: dict[str, set[int]] = {}
    for one in ranges:
        if one.topic in found:
            places.setdefault(one.topic, set()).add(one.partition)
    first, last = (broker.offsets(places, which) for which in ("earliest", "latest"))
    gone = [one for one in joined(ranges) if not _is_within(one, first, last)]
    if gone:
        raise _gone(name, gone)


def _is_within(one: Range, first: Offsets, last: Offsets) -> bool:
    begin = first.get(one.topic, {}).get(one.partition)
    end = last.get(one.topic, {}).get(one.partition)
    return begin is not None and end is not None and begin <= one.first and one.until <= end


def _gone(name: str, ranges: Sequence[Range]) -> RecordsGone:
    return RecordsGone(
        f"sources.{name}: records that batches have read have expired, or were deleted: "
        f"{ranges[0]}" + (f" and {len(ranges) - 1} ranges more." if len(ranges) > 1 else "."),
        remedy="What is published stays. Keep records longer than you may want to compute again "
        "(retention.ms), or bound the lateness: backfill.lateness.",
        source=name,
        ranges=[str(one) for one in ranges],
    )
