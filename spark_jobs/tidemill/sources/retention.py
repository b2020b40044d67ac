"""Finds which published input the sources still hold, so that a rebuild can read it again.

By files and by offsets, never by batches: another generation cuts its batches elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidemill.contract.connections.airflow import connection
from tidemill.contract.layout import Layout
from tidemill.increments.exclusions import Excluded
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.source_record import kafka_sources
from tidemill.sources.files.listing import Found, list_source
from tidemill.spark_logs.kafka_initial_offsets import initial_offsets_file, read_initial_offsets
from tidemill.spark_logs.offset_ranges import Range, as_offsets, between
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.file import FileSource
from tidemill.spec.sources.kafka import KafkaSource, Offsets

# Files of a kind that a report names; the number counts all.
NAMED = 10
COMPACTED = "compact"


@dataclass(frozen=True)
class Part:
    """A part of the published input.

    Args:
        files: Whole ones.
        ranges: Kafka source -> records.
        compacted: Kafka sources of which the broker may have dropped records anywhere.
    """

    files: tuple[InputFile, ...] = ()
    ranges: Mapping[str, tuple[Range, ...]] = field(default_factory=dict)
    compacted: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files or self.ranges or self.compacted)

    def __str__(self) -> str:
        said = [f"{len(self.files):,} files ({self.files[0].path} …)"] if self.files else []
        said += [f"{one} of {name}" for name, ranges in self.ranges.items() for one in ranges[:3]]
        return "; ".join([*said, *(f"whatever was compacted of {name}" for name in self.compacted)])

    def without(self, other: Part) -> Part:
        """What is left of it without a part of it; of a range that is its beginning."""
        files = {_identity(file) for file in other.files}
        left: dict[str, tuple[Range, ...]] = {}
        for name, ranges in self.ranges.items():
            gone = {
                (one.topic, one.partition, one.first): one.until
                for one in other.ranges.get(name, ())
            }
            begins = [gone.get((one.topic, one.partition, one.first), one.first) for one in ranges]
            rest = (
                one.model_copy(update={"first": begin})
                for one, begin in zip(ranges, begins, strict=True)
                if begin < one.until
            )
            if found := tuple(rest):
                left[name] = found
        return Part(tuple(file for file in self.files if _identity(file) not in files), left)

    def as_dict(self) -> dict[str, Any]:
        """For a report's facts."""
        return {
            "files": len(self.files),
            "named": [file.path for file in self.files[:NAMED]],
            "ranges": {name: [str(one) for one in ranges] for name, ranges in self.ranges.items()},
            "compacted": list(self.compacted),
        }


def published_input(
    snapshot: Snapshot, generation: str, but: Excluded
) -> tuple[Part, dict[str, Offsets]]:
    """The published input of a generation, and where its Kafka sources begin.

    Args:
        snapshot: The journal and the increments.
        generation: The live one.
        but: The input that does not count; records are not checked against other generations.
    """
    ledger = Ledger(snapshot.layout, generation)
    batches = ledger.batches(last=snapshot.last_published(generation))
    gone = {_identity(file) for file in but.files}
    read = {(one.source, one.path): one for batch in batches for one in batch.inputs}
    until = _positions(ledger, batches)
    first = {name: _initial(ledger, name) for name in until}
    ranges = {name: between(first[name], ends) for name, ends in until.items()}
    files = tuple(file for file in read.values() if _identity(file) not in gone)
    return Part(files, ranges), first


def unread(layout: Layout, generation: str, published: Part) -> Part:
    """The part of some input that a generation has not read.

    Args:
        layout: The pipeline's layout.
        generation: The one that is to take over.
        published: What the live one has published.
    """
    ledger = Ledger(layout, generation)
    batches = ledger.batches()
    read = {(file.source, file.path) for batch in batches for file in batch.inputs}
    reached = _positions(ledger, batches)
    ranges = {
        name: tuple(
            rest
            for one in wanted
            for rest in _outside(one, _initial(ledger, name), reached.get(name, {}))
        )
        for name, wanted in published.ranges.items()
    }
    files = tuple(file for file in published.files if (file.source, file.path) not in read)
    return Part(files, {name: found for name, found in ranges.items() if found})


def gone(pipeline: Pipeline, wanted: Part, environ: Mapping[str, str] = os.environ) -> Part:
    """The part of some input that today's sources no longer hold, or hold changed.

    Args:
        pipeline: With today's spec.
        wanted: The input.
        environ: For the connections.

    Raises:
        BrokerUnreachable: no answer in time.
    """
    spec = pipeline.spec
    there: dict[str, dict[str, Found]] = {}
    for name in {file.source for file in wanted.files}:
        source = spec.sources.get(name)
        field = f"sources.{name}.path"
        files = list_source(source, field).files if isinstance(source, FileSource) else ()
        there[name] = {str(file.path): file for file in files}
    ranges: dict[str, tuple[Range, ...]] = {}
    compacted = []
    for name, asked in wanted.ranges.items():
        source = spec.sources.get(name)
        if not isinstance(source, KafkaSource):
            ranges[name] = asked
            continue
        begin, forgets = _earliest(name, source, environ)
        if forgets:
            compacted.append(name)
        if found := tuple(lost for one in asked for lost in _before(one, begin)):
            ranges[name] = found
    lost = (one for one in wanted.files if not _is_it(one, there[one.source].get(one.path)))
    return Part(tuple(lost), ranges, tuple(compacted))


def beginning(
    pipeline: Pipeline, first: Mapping[str, Offsets], environ: Mapping[str, str] = os.environ
) -> dict[str, Offsets]:
    """Kafka source -> where a generation has to begin that is to read all of it that is there.

    A spec may begin at the latest record; the published input began where that was then.

    Args:
        pipeline: With today's spec.
        first: Kafka source -> where the published input begins.
        environ: For the connections.
    """
    begins = {}
    for name, began in first.items():
        source = pipeline.spec.sources.get(name)
        if isinstance(source, KafkaSource):
            earliest, _ = _earliest(name, source, environ)
            begins[name] = {
                topic: {
                    n: max(offset, began.get(topic, {}).get(n, 0)) for n, offset in ends.items()
                }
                for topic, ends in earliest.items()
            }
    return begins


def _positions(ledger: Ledger, batches: Sequence[Batch]) -> dict[str, Offsets]:
    """Kafka source -> where the batches end in it."""
    kafka = kafka_sources(ledger.layout, ledger.generation)
    offsets = batches[-1].offsets if batches else {}
    return {name: as_offsets(at) for name, at in offsets.items() if name in kafka}


def _initial(ledger: Ledger, name: str) -> Offsets:
    file = initial_offsets_file(ledger.layout, ledger.generation, name)
    return read_initial_offsets(file) or {}


def _outside(one: Range, initial: Offsets, reached: Offsets) -> Iterator[Range]:
    """The parts of a range before a beginning and after an end."""
    end = reached.get(one.topic, {}).get(one.partition)
    if end is None:
        yield one
        return
    begin = initial.get(one.topic, {}).get(one.partition, 0)
    if one.first < begin:
        yield one.model_copy(update={"until": min(begin, one.until)})
    if end < one.until:
        yield one.model_copy(update={"first": max(end, one.first)})


def _before(one: Range, begin: Offsets) -> Iterator[Range]:
    """The part of a range before a beginning; all of it if the partition is gone."""
    until = min(one.until, begin.get(one.topic, {}).get(one.partition, one.until))
    if one.first < until:
        yield one.model_copy(update={"until": until})


def _earliest(name: str, source: KafkaSource, environ: Mapping[str, str]) -> tuple[Offsets, bool]:
    """The first offsets of a source, and whether its topics forget in between."""
    from tidemill.sources.kafka.broker import Broker
    from tidemill.sources.kafka.topics import topics_today

    broker = Broker(connection(source.conn_id, environ))
    today = topics_today(name, source, broker)
    begin = broker.offsets({topic.name: topic.partitions for topic in today.values()}, "earliest")
    return begin, any(COMPACTED in topic.cleanup_policy for topic in today.values())


def _is_it(file: InputFile, now: Found | None) -> bool:
    return now is not None and (now.size, now.modified_ms) == (file.size, file.modified_ms)


def _identity(file: InputFile) -> tuple[str, str, int | None, int]:
    return file.source, file.path, file.size, file.modified_ms
