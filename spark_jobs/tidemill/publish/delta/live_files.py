"""The data files of one version of a Delta table, by its log."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.transaction import RemoveAction

from tidemill.contract.clock import Clock, wall_clock
from tidemill.file_formats.keyed_rows import KeyedFile


@dataclass(frozen=True)
class LiveFile(KeyedFile):
    """A data file that readers of the version see."""

    name: str
    size: int

    def removal(self, clock: Clock = wall_clock, *, data_change: bool = True) -> RemoveAction:
        """The action that takes it out of the table.

        Args:
            data_change: Whether its rows go too, and are not in another file of the same commit.
        """
        return RemoveAction(
            # delta-rs encodes it once more: with the log's own spelling nothing would be removed.
            path=unquote(self.name),
            data_change=data_change,
            deletion_timestamp=int(clock().timestamp() * 1000),
            size=self.size,
            partition_values=dict(self.partition),
        )


def live_files(table: DeltaTable, root: Path) -> list[LiveFile]:
    """The files of a snapshot, with partition values as Spark prints them in paths."""
    return [
        LiveFile(
            path=root / unquote(urlparse(row["path"]).path),
            partition={name: _text(value) for name, value in (row.get("partition") or {}).items()},
            name=row["path"],
            size=row["size_bytes"],
        )
        for row in pa.table(table.get_add_actions()).to_pylist()
    ]


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)
