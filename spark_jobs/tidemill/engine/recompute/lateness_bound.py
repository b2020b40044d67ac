"""Selects the inputs that may hold rows of given event times, by arrival and lateness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tidemill.engine.recompute.published_input import Read
from tidemill.file_formats.table import READERS
from tidemill.file_formats.written_format import WriteFormat
from tidemill.journal.partition_set import Partitions
from tidemill.ledger.input_file import InputFile


@dataclass(frozen=True)
class Arrived:
    """The batches to read.

    Args:
        reads: The reads of all batches, each with what of it may hold rows that are wanted.
        skipped: Files and ranges of records that were left out.
        late: Batches that wrote wanted rows though nothing of them arrived within the bound.
    """

    reads: Sequence[Read]
    skipped: int
    late: tuple[int, ...]


def bounded_reads(
    reads: Sequence[Read],
    times: tuple[datetime, datetime],
    lateness: timedelta,
    partitions: Partitions | None,
) -> Arrived:
    """Leave out what arrived before some event times, or too long after them.

    Args:
        reads: What all batches read.
        times: The event times of the rows that are wanted: inclusive, exclusive.
        lateness: The most between a row's event time and its arrival.
        partitions: Where the wanted rows are: a batch that wrote into them is read whatever the
            bound says. None where what a batch wrote does not come out of what it read.
    """
    first, last = times[0], times[1] + lateness
    bounded, late, skipped = [], [], 0
    for read in reads:
        committed = read.batch.committed
        files = tuple(file for file in read.files if first <= _modified(file) <= last)
        ranges = read.ranges if first <= committed <= last else {}
        left = replace(read, files=files, ranges=ranges)
        left = replace(left, whole=read.whole and left.inputs == read.inputs)
        if left.inputs < read.inputs and partitions is not None and _wrote(read, partitions):
            if not left.inputs:
                late.append(read.batch.batch)
            left = read
        skipped += read.inputs - left.inputs
        bounded.append(left)
    return Arrived(bounded, skipped, tuple(late))


def _modified(file: InputFile) -> datetime:
    return datetime.fromtimestamp(file.modified_ms / 1000, UTC)


def _wrote(read: Read, partitions: Partitions) -> bool:
    """Whether a batch wrote rows of some partitions, or rejected rows that would be there."""
    files = [file for file in read.batch.outputs if file.rows]
    if any(not file.rejected and partitions.hold(file.partition) for file in files):
        return True
    rejected = [read.ledger.sink / file.path for file in files if file.rejected]
    if not rejected:
        return False
    written = read.ledger.written([read.batch])[read.batch.batch]
    return any(_would_lie(path, written, partitions) for path in rejected)


def _would_lie(path: Path, written: WriteFormat, partitions: Partitions) -> bool:
    rejects = READERS[written.format].rejects(path, written).to_pylist()
    found_partitions = {tuple(reject["partition"] or ()) for reject in rejects if reject}
    return any(_names(dict(pairs), partitions) for pairs in found_partitions)


def _names(partition: Mapping[str, str | None], partitions: Partitions) -> bool:
    known = all(partition.get(column) is not None for column in partitions.columns)
    return known and partitions.hold(partition)
