"""What batches read of Kafka, read again: only while the topics still hold every record of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contract.kafka_source import KafkaSource, Offsets
from spark_jobs.engine import kafka_source
from spark_jobs.ledger.kafka_range import Range


def read_ranges(
    session: SparkSession, source: KafkaSource, name: str, ranges: Sequence[Range]
) -> DataFrame:
    """The records of ranges, each once.

    Args:
        session: With the Kafka jars.
        source: Whose.
        name: Of the source.
        ranges: In the order in which they were read.
    """
    reads = [kafka_source.read_batch(session, source, *span) for span in _spans(ranges)]
    return reduce(DataFrame.unionAll, reads)


def joined(ranges: Iterable[Range]) -> list[Range]:
    """Ranges with those put together that follow each other."""
    found: list[Range] = []
    for one in sorted(ranges, key=lambda r: (r.topic, r.partition, r.first)):
        last = found[-1] if found else None
        if last and (last.topic, last.partition, last.until) == (
            one.topic,
            one.partition,
            one.first,
        ):
            found[-1] = last.model_copy(update={"until": one.until})
        else:
            found.append(one)
    return found


def _spans(ranges: Iterable[Range]) -> list[tuple[Offsets, Offsets]]:
    """As few reads as can be: each takes one range of every partition."""
    rounds: list[dict[tuple[str, int], Range]] = []
    for one in joined(ranges):
        place = (one.topic, one.partition)
        free = next((each for each in rounds if place not in each), None)
        if free is None:
            rounds.append(free := {})
        free[place] = one
    return [
        (_offsets(each.values(), first=True), _offsets(each.values(), first=False))
        for each in rounds
    ]


def _offsets(ranges: Iterable[Range], *, first: bool) -> Offsets:
    found: dict[str, dict[int, int]] = {}
    for one in ranges:
        found.setdefault(one.topic, {})[one.partition] = one.first if first else one.until
    return found
