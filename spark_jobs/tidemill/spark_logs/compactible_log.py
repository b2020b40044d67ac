"""Metadata logs that Spark compacts: every so many batches one file repeats all before it.

Which entries make up the whole log, and which of those are missing, as in Spark's
`CompactibleFileStreamLog`. Spark itself looks only while it reads: a query goes on succeeding over
a hole in its sink's log until the next compaction.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from pathlib import Path

from tidemill.contract.errors import Refused
from tidemill.spark_logs.metadata_log import batch_files, repair_of

COMPACT = ".compact"

# In a source's log: a file that no batch is to read (`spark_logs.source_log_cut`).
OF_NO_BATCH = b'"batchId":-1}'
# Spark's default; only asked for where no compact file tells.
DEFAULT_COMPACT_INTERVAL = 10


class GapInLog(Refused):
    """An entry is missing between others; carries `file` and `batch`."""


class GapInSinkLog(GapInLog):
    """The file sink's log lacks a batch."""


class GapInSourceLog(GapInLog):
    """The file source's log lacks an offset that a batch has read."""


class MissingCompactLog(Refused):
    """A compact file is missing, and with it all that it stood for; carries `file`, `batch`."""


@dataclass(frozen=True)
class CompactibleLog:
    """The files of a compactible log.

    Args:
        plain: Batch id -> entry of that batch alone.
        compact: Batch id -> entry of that batch and all before it.
    """

    directory: Path
    plain: Mapping[int, Path]
    compact: Mapping[int, Path]

    @property
    def latest(self) -> int | None:
        return max((*self.plain, *self.compact), default=None)

    @property
    def compacted_upto(self) -> int | None:
        return max(self.compact, default=None)

    def tail(self, gap: type[GapInLog]) -> range:
        """The batches after the latest compact file.

        A latest entry that is missing leaves no trace here: compare `latest` with the commits.

        Args:
            gap: What to raise where one is missing.

        Raises:
            GapInLog: one of them has no entry.
            MissingCompactLog: the missing one had to be a compact file.
        """
        latest = -1 if self.latest is None else self.latest
        start = -1 if self.compacted_upto is None else self.compacted_upto
        batches = range(start + 1, latest + 1)
        for batch in batches:
            if batch not in self.plain:
                raise self._missing(batch, gap)
        return batches

    def _missing(self, batch: int, gap: type[GapInLog]) -> Refused:
        if self.compacts(batch) is not False:
            file = self.directory / f"{batch}{COMPACT}"
            return MissingCompactLog(
                f"{file} is missing; it stood for all batches up to {batch}.",
                remedy=repair_of(file),
                file=file,
                batch=batch,
            )
        file = self.directory / str(batch)
        return gap(
            f"{file} is missing, though there are later ones.",
            remedy=repair_of(file),
            file=file,
            batch=batch,
        )

    @property
    def length(self) -> int:
        """The number of files that the log names for its batches, by its lines."""
        upto = -1 if self.compacted_upto is None else self.compacted_upto
        entries = [file for batch, file in self.plain.items() if batch > upto]
        entries += [self.compact[upto]] if upto >= 0 else []
        texts = [entry.read_bytes() for entry in entries]
        return sum(text.count(b"\n") - text.count(OF_NO_BATCH) for text in texts)

    def compacts(self, batch: int) -> bool | None:
        """Whether the entry of a batch is a compact file; None where that cannot be told."""
        found = {(batch + 1) % interval == 0 for interval in self._compact_intervals()}
        return found.pop() if len(found) == 1 else None

    def _compact_intervals(self) -> list[int]:
        """The intervals that fit the files that are there; Spark writes the interval nowhere."""
        if not self.compact:
            return [DEFAULT_COMPACT_INTERVAL]
        common = gcd(*(batch + 1 for batch in self.compact))
        return [
            interval
            for interval in range(2, common + 1)
            if common % interval == 0 and all((batch + 1) % interval for batch in self.plain)
        ]


def compactible_log(directory: Path) -> CompactibleLog:
    """List a log; of a directory that is not there, an empty one."""
    # In this order no compaction is missed before a plain entry, also while the query runs.
    plain = batch_files(directory)
    return CompactibleLog(directory, plain, batch_files(directory, COMPACT))
