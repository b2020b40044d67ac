"""The offsets at which a first query will begin, as far as known before it runs."""

from collections.abc import Mapping
from dataclasses import dataclass

from tidemill.contract.errors import UsageError
from tidemill.sources.kafka.broker import Broker
from tidemill.spec.sources.kafka import EARLIEST, LATEST, KafkaSource, Offsets


class StartingOffsetsMisfit(UsageError):
    """The spec begins where the topics have no record; carries `source`, `field`, `partitions`."""


@dataclass(frozen=True)
class Beginning:
    """The offsets at which a first query begins.

    Args:
        offsets: Topic -> partition -> offset.
        moves: Whether it means another offset at every look, until a first query has noted one.
    """

    offsets: Offsets
    moves: bool


def beginning_of(
    name: str, source: KafkaSource, broker: Broker, begin: Offsets, ends: Offsets
) -> Beginning:
    """Resolve the spec's starting offsets as Spark will.

    Args:
        source: With its starting offsets or timestamps.
        broker: Asked for timestamps.
        begin: The first offset of every partition.
        ends: The offset after the last of every partition.

    Raises:
        StartingOffsetsMisfit: Spark would refuse them, or records that they name are gone.
    """
    asked = _asked(name, source, broker, begin)
    offsets: Offsets = {}
    for topic, by_partition in asked.items():
        for partition, offset in by_partition.items():
            first, end = begin[topic][partition], ends[topic][partition]
            resolved = {EARLIEST: first, LATEST: end}.get(offset, offset)
            if not first <= resolved <= end:
                what = f"{offset:,}, and the topic holds {first:,} to {end - 1:,}"
                raise _misfit(name, "startingOffsets", f"{topic}/{partition} is {what}", begin)
            offsets.setdefault(topic, {})[partition] = resolved
    moves = any(offset == LATEST for ends in asked.values() for offset in ends.values())
    return Beginning(offsets, moves)


def _asked(name: str, source: KafkaSource, broker: Broker, begin: Offsets) -> Offsets:
    """An offset of each partition, -1 for the latest and -2 for the earliest."""
    if source.startingTimestamp is not None:
        times: Mapping[str, Mapping[int, int]] = {
            topic: dict.fromkeys(partitions, source.startingTimestamp)
            for topic, partitions in begin.items()
        }
        return _by_time(name, "startingTimestamp", source, broker, times)
    if source.startingOffsetsByTimestamp is not None:
        field = "startingOffsetsByTimestamp"
        _must_cover(name, field, source.startingOffsetsByTimestamp, begin)
        return _by_time(name, field, source, broker, source.startingOffsetsByTimestamp)
    start = source.startingOffsets
    if isinstance(start, str):
        which = EARLIEST if start == "earliest" else LATEST
        return {topic: dict.fromkeys(partitions, which) for topic, partitions in begin.items()}
    _must_cover(name, "startingOffsets", start, begin)
    return start


def _by_time(
    name: str,
    field: str,
    source: KafkaSource,
    broker: Broker,
    times: Mapping[str, Mapping[int, int]],
) -> Offsets:
    found = broker.offsets_at(times)
    late = [f"{t}/{p}" for t, ends in found.items() for p, offset in ends.items() if offset < 0]
    if late and source.startingOffsetsByTimestampStrategy == "error":
        what = f"{late[0]} has no record as young as that"
        raise _misfit(name, field, what, found, "Or set startingOffsetsByTimestampStrategy: latest")
    return found


def _must_cover(
    name: str, field: str, given: Mapping[str, Mapping[int, int]], begin: Offsets
) -> None:
    wanted = {(topic, partition) for topic, ends in begin.items() for partition in ends}
    named = {(topic, partition) for topic, ends in given.items() for partition in ends}
    for topic, partition in sorted(wanted ^ named):
        what = "is not named" if (topic, partition) in wanted else "is named and not there"
        raise _misfit(name, field, f"{topic}/{partition} {what}", begin)


def _misfit(
    name: str, field: str, what: str, begin: Offsets, or_else: str = ""
) -> StartingOffsetsMisfit:
    return StartingOffsetsMisfit(
        f"sources.{name}.{field}: {what}.",
        remedy=f"Name each partition of today, with an offset it has. {or_else}".strip(),
        source=name,
        field=field,
        partitions={topic: sorted(ends) for topic, ends in begin.items()},
    )
