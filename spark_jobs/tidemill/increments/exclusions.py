"""Excluded input: rejected by a person and not reinstated.

Every backfill, redo and rebuild leaves it out. It is known by input, not by batch, so that it stays
out of generations that read the same input again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidemill.contract.layout import Layout
from tidemill.increments.increments import Increments
from tidemill.journal.journal import Journal
from tidemill.journal.recomputation import Recomputation
from tidemill.journal.takeovers import read_takeovers
from tidemill.ledger.ledger import Batch, InputFile, Ledger
from tidemill.ledger.source_record import kafka_sources
from tidemill.spark_logs.kafka_initial_offsets import initial_offsets_file, read_initial_offsets
from tidemill.spark_logs.offset_ranges import Range, as_offsets, between


@dataclass(frozen=True)
class Excluded:
    """Input that does not count.

    Args:
        files: Read from a file source.
        ranges: Kafka source -> the records.
    """

    files: frozenset[InputFile] = frozenset()
    ranges: Mapping[str, tuple[Range, ...]] | None = None

    def __bool__(self) -> bool:
        return bool(self.files or self.ranges)

    def holds(self, file: InputFile) -> bool:
        """Whether a file is among them, as it was when it was rejected."""
        return any(
            (file.source, file.path, file.size, file.modified_ms)
            == (one.source, one.path, one.size, one.modified_ms)
            for one in self.files
        )


def excluded(layout: Layout, but: Iterable[int] = ()) -> Excluded:
    """The excluded input.

    Args:
        but: The rejected increments that are about to be taken back.
    """
    increments = Increments(layout.increments).all()
    events = Journal(layout.journal).events()
    back = {
        number
        for event in events
        if event.recomputation
        for number in event.recomputation.reinstates
    }
    files = {
        file
        for one in events
        if one.recomputation is not None
        for file in one.recomputation.excludes
    }
    files.update(file for takeover in read_takeovers(layout.home) for file in takeover.excludes)
    ranges: dict[str, list[Range]] = {}
    for increment in increments:
        if increment.rejection is None or increment.number in {*back, *but}:
            continue
        place = increment.sealed.covers
        ledger = Ledger(layout, place.generation)
        batches = ledger.batches(max(0, place.first - 1), place.last)
        before = batches.pop(0) if place.first else None
        for batch in batches:
            files.update(batch.inputs)
            for source, read in _ranges(ledger, batch, before).items():
                ranges.setdefault(source, []).extend(read)
            before = batch
    return Excluded(frozenset(files), {name: tuple(read) for name, read in ranges.items()})


def without(layout: Layout, recomputation: Recomputation) -> Excluded:
    """The input that a computation leaves out.

    Args:
        recomputation: What it excludes is out, and what it reinstates is not.
    """
    known = excluded(layout, recomputation.reinstates)
    return Excluded(known.files | {*recomputation.excludes}, known.ranges)


def _ranges(ledger: Ledger, batch: Batch, before: Batch | None) -> dict[str, tuple[Range, ...]]:
    """Source -> the records that a batch read of it, for those whose positions are offsets."""
    found = {}
    kafka = kafka_sources(ledger.layout, ledger.generation)
    for name, offset in batch.offsets.items():
        if name not in kafka:
            continue
        then = as_offsets(before.offsets.get(name)) if before is not None else {}
        noted = read_initial_offsets(initial_offsets_file(ledger.layout, ledger.generation, name))
        read = between(then or noted or {}, as_offsets(offset))
        if read:
            found[name] = read
    return found
