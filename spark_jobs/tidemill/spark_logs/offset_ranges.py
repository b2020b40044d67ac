"""Ranges of a topic's offsets, and comparisons of two positions."""

from collections.abc import Iterable, Iterator

from tidemill.contract.document import FrozenModel
from tidemill.spec.sources.kafka import Offsets


class Range(FrozenModel):
    """Records of one partition.

    Attributes:
        first: The first offset.
        until: One after the last.
    """

    topic: str
    partition: int
    first: int
    until: int

    @property
    def records(self) -> int:
        """At most; of a transaction some offsets are not records."""
        return self.until - self.first

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition} {self.first:,} to {self.until - 1:,}"


def between(first: Offsets, until: Offsets) -> tuple[Range, ...]:
    """The ranges between two positions, without empty ones, in order.

    A partition that `first` does not name begins at 0; one that `until` does not name is left out.
    """
    return tuple(
        Range(topic=topic, partition=partition, first=begin, until=end)
        for topic, by_partition in sorted(until.items())
        for partition, end in sorted(by_partition.items())
        if (begin := first.get(topic, {}).get(partition, 0)) < end
    )


def outside(ranges: Iterable[Range], others: Iterable[Range]) -> tuple[Range, ...]:
    """Ranges without what others cover."""
    left = [*ranges]
    for other in others:
        left = [part for one in left for part in _cut(one, other)]
    return tuple(left)


def _cut(one: Range, other: Range) -> Iterator[Range]:
    if (one.topic, one.partition) != (other.topic, other.partition):
        yield one
        return
    before = (one.first, min(one.until, other.first))
    after = (max(one.first, other.until), one.until)
    for first, until in (before, after):
        if first < until:
            yield one.model_copy(update={"first": first, "until": until})


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


def records_in(ranges: Iterable[Range]) -> int:
    """The most records that some ranges can hold."""
    return sum(one.records for one in ranges)


def merged(under: Offsets, over: Offsets) -> Offsets:
    """One position with the partitions of another put over it."""
    return {topic: under.get(topic, {}) | over.get(topic, {}) for topic in sorted({*under, *over})}


def ends_of(ranges: Iterable[Range]) -> Offsets:
    """The position after ranges, of the last of each partition."""
    ends: dict[str, dict[int, int]] = {}
    for one in ranges:
        ends.setdefault(one.topic, {})[one.partition] = one.until
    return ends


def as_offsets(found: object) -> Offsets:
    """A position as Spark's JSON has it, whose partitions are text."""
    if not isinstance(found, dict):
        return {}
    return {
        str(topic): {int(partition): int(offset) for partition, offset in ends.items()}
        for topic, ends in found.items()
    }
