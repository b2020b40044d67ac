"""Where the batches of a query end that reads a published table, and the files of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemill.file_formats.delta_changes import (
    AddedFile,
    TableHead,
    changes,
    files_between,
    table_head,
)

# As in Kafka's positions: the table's id -> its only partition -> the first version not read.
Offset = dict[str, dict[str, int]]
PARTITION = "0"
NOTHING = TableHead("", -1)


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

    def end(self, start: Offset, head: TableHead) -> Offset:
        """Where the batch ends that begins at an offset; there, if nothing is to be read."""
        if start and head.id not in start:
            # Another table in its place: the doctor refuses it.
            return start
        first = _version(start, head.id)
        until = max(first, head.version + 1)
        if first and self.held is not None:
            swaps = (v.number for v in changes(self.table, first, until) if v.swapped)
            until = next((number for number in swaps if self._holds(number)), until)
        # The position stays before swaps, which a recomputation reads with what came before them.
        new = files_between(self.table, first, until)
        return {head.id: {PARTITION: until}} if new else start

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
