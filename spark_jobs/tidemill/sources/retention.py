"""Finds which published input the sources still hold, so that a rebuild can read it again.

By files and by offsets, never by batches: another generation cuts its batches elsewhere.
"""

import os
from collections.abc import Iterator, Mapping

from tidemill.contract.layout import Layout
from tidemill.increments.exclusions import Excluded
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.ranges_read import RangesRead
from tidemill.sources.input_part import InputPart, identity
from tidemill.sources.kinds import open_source, open_sources
from tidemill.spark_logs.offset_ranges import Range, between
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.kafka import Offsets


def published_input(
    snapshot: Snapshot, generation: str, but: Excluded
) -> tuple[InputPart, dict[str, Offsets]]:
    """The published input of a generation, and where its Kafka sources begin.

    Args:
        but: The input that does not count; records are not checked against other generations.
    """
    return input_read(snapshot.layout, generation, but, snapshot.last_published(generation))


def input_read(
    layout: Layout, generation: str, but: Excluded, last: int | None = None
) -> tuple[InputPart, dict[str, Offsets]]:
    """The input that a generation has read; as `published_input`.

    Args:
        last: The last batch to look at; None for all.
    """
    ledger = Ledger(layout, generation)
    batches = ledger.batches(last=last)
    gone = {identity(file) for file in but.files}
    read = {(one.source, one.path): one for batch in batches for one in batch.inputs}
    records = RangesRead(ledger)
    until = records.ends(batches[-1]) if batches else {}
    first = {name: records.beginnings[name] for name in until}
    ranges = {name: between(first[name], ends) for name, ends in until.items()}
    files = tuple(file for file in read.values() if identity(file) not in gone)
    return InputPart(files, ranges), first


def unread(
    layout: Layout, generation: str, published: InputPart, last: int | None = None
) -> InputPart:
    """The part of some input that a generation has not read.

    Args:
        generation: The one that is to take over.
        published: What the live one has published.
        last: The last batch to look at; None for all.
    """
    ledger = Ledger(layout, generation)
    batches = ledger.batches(last=last)
    read = {(file.source, file.path) for batch in batches for file in batch.inputs}
    records = RangesRead(ledger)
    reached = records.ends(batches[-1]) if batches else {}
    ranges = {
        name: tuple(
            rest
            for one in wanted
            for rest in _outside(one, records.beginnings.get(name, {}), reached.get(name, {}))
        )
        for name, wanted in published.ranges.items()
    }
    files = tuple(file for file in published.files if (file.source, file.path) not in read)
    return InputPart(files, {name: found for name, found in ranges.items() if found})


def gone(
    pipeline: Pipeline, wanted: InputPart, environ: Mapping[str, str] = os.environ
) -> InputPart:
    """The part of some input that today's sources no longer hold, or hold changed.

    Args:
        wanted: The input.

    Raises:
        TransientError: a source cannot be reached.
    """
    lost = InputPart()
    for name, part in wanted.by_source.items():
        is_source = name in pipeline.spec.sources
        lost += open_source(pipeline, name, environ).lost(part) if is_source else part
    return lost


def beginning(
    pipeline: Pipeline, first: Mapping[str, Offsets], environ: Mapping[str, str] = os.environ
) -> dict[str, Offsets]:
    """Source -> the offsets from which a generation reads all that is there.

    A spec may begin at the latest record; the published input began where that was then.

    Args:
        first: Source -> the offsets at which the published input begins.
    """
    sources = (source for source in open_sources(pipeline, environ) if source.name in first)
    begins = {source.name: source.beginning(first[source.name]) for source in sources}
    return {name: offsets for name, offsets in begins.items() if offsets is not None}


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
