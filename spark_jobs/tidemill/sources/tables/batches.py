"""Where the batches of a query end that reads a published table, and the files of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemill.file_formats.delta_changes import (
    AddedFile,
    TableHead,
    changes,
    files_between,
    last_removal,
    table_head,
)

# As in Kafka's positions: the table's id -> its only partition -> the first version not read.
Offset = dict[str, dict[str, int]]
PARTITION = "0"
NOTHING = TableHead("", -1)


@dataclass(frozen=True)
class BatchSize:
    """The data files of a batch: how many, and their bytes."""

    files: int = 0
    bytes: int = 0

    def with_files(self, added: Sequence[AddedFile]) -> BatchSize:
        return BatchSize(self.files + len(added), self.bytes + sum(one.size for one in added))


@dataclass(frozen=True)
class BatchLimits:
    """The most that a batch may take; None for no limit."""

    files: int | None = None
    bytes: int | None = None

    def allow(self, size: BatchSize) -> bool:
        return (self.files is None or size.files <= self.files) and (
            self.bytes is None or size.bytes <= self.bytes
        )


@dataclass(frozen=True)
class TableBatches:
    """The batches that read what versions of a table add.

    Args:
        held: The `versions` of swaps that stop a query, and the version `after` which all do; None
            where none does.
    """

    table: Path
    held: dict[str, Any] | None

    def head(self) -> TableHead:
        """The table as it is now, also before it is there."""
        return table_head(self.table) or NOTHING

    def end(self, start: Offset, head: TableHead, limits: BatchLimits) -> Offset:
        """Where the batch ends that begins at an offset; there, if nothing is to be read.

        A batch takes whole versions, at least one with rows. The first one reads what swaps and
        compactions have left of the versions up to the last of them, for it can read no less; it
        has no rows where they left none, so that a rebuild can follow a table that was emptied.
        """
        if start and head.id not in start:
            # Another table in its place: the doctor refuses it.
            return start
        first = end = _version(start, head.id)
        taken = BatchSize()
        if first == 0:
            end = last_removal(self.table, head) + 1
            taken = taken.with_files(files_between(self.table, 0, end))
        until = head.version + 1
        for version in changes(self.table, end, until):
            if version.swapped and self._holds(version.number):
                until = version.number
                break
            if not version.added:
                continue
            more = taken.with_files(version.added)
            if taken.files and not limits.allow(more):
                until = end
                break
            taken, end = more, version.number + 1
        # The position stays before swaps, which a recomputation reads with what came before them.
        was_emptied = first == 0 and end > 0
        return {head.id: {PARTITION: until}} if taken.files or was_emptied else start

    def files(self, start: Offset, end: Offset) -> list[AddedFile]:
        """The files of the batch between two offsets."""
        return [
            file
            for identity in end
            for file in files_between(
                self.table, _version(start, identity), _version(end, identity)
            )
        ]

    def _holds(self, swap: int) -> bool:
        """Whether a swap is one of those known to be held, or came after they were told."""
        held = self.held
        return held is not None and (swap in held["versions"] or swap > held["after"])


def _version(offset: Offset, identity: str) -> int:
    return offset.get(identity, {}).get(PARTITION, 0)
