"""Excluded input: rejected by a person and not reinstated.

Every backfill, redo and rebuild leaves it out. It is known by input, not by batch, so that it stays
out of generations that read the same input again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidemill.contract.layout import Layout
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.recomputation import Recomputation
from tidemill.ledger.ledger import InputFile, Ledger
from tidemill.ledger.ranges_read import RangesRead
from tidemill.spark_logs.offset_ranges import Range


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


def excluded(snapshot: Snapshot, but: Iterable[int] = ()) -> Excluded:
    """The excluded input.

    Args:
        but: The rejected increments that are about to be reinstated.
    """
    recomputations = [
        event.recomputation for event in snapshot.events if event.recomputation is not None
    ]
    back = {number for one in recomputations for number in one.reinstates}
    files = {file for one in recomputations for file in one.excludes}
    files.update(file for takeover in snapshot.takeovers for file in takeover.excludes)
    ranges: dict[str, list[Range]] = {}
    for increment in snapshot.increments:
        if increment.rejection is None or increment.dropped:
            continue
        if increment.number in {*back, *but}:
            continue
        covered = increment.sealed.covers
        ledger = Ledger(snapshot.layout, covered.generation)
        batches = ledger.batches(max(0, covered.first - 1), covered.last)
        before = batches.pop(0) if covered.first else None
        records = RangesRead(ledger)
        for batch in batches:
            files.update(batch.inputs)
            for source, read in records.read_by(batch, before).items():
                ranges.setdefault(source, []).extend(read)
            before = batch
    return Excluded(frozenset(files), {name: tuple(read) for name, read in ranges.items()})


def without(layout: Layout, recomputation: Recomputation) -> Excluded:
    """The input that a recomputation leaves out.

    Args:
        recomputation: It excludes files, and counts the increments that it reinstates.
    """
    known = excluded(Snapshot(layout), recomputation.reinstates)
    return Excluded(known.files | {*recomputation.excludes}, known.ranges)
