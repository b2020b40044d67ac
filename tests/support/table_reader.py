"""What is there to be seen: the rows of a table, the files of a folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from tidemill.contract.layout import Layout
from tidemill.file_formats.delta import open_dataset
from tidemill.file_formats.delta_log import has_table
from tidemill.file_formats.delta_table import open_table


def read_rows(table: Path) -> list[dict[str, Any]]:
    """All rows of a Delta table; none where there is no table."""
    if not has_table(table):
        return []
    found: list[dict[str, Any]] = open_dataset(table).to_table().to_pylist()
    return found


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Every path below a folder with its size and time: what a reader must leave as it is."""
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class Seen(ABC):
    """What consumers see of a pipeline."""

    @property
    @abstractmethod
    def layout(self) -> Layout: ...

    def published(self) -> list[dict[str, Any]]:
        return read_rows(self.layout.table)

    def ids(self) -> list[int]:
        return sorted(one["id"] for one in self.published())

    def rejected(self) -> list[dict[str, Any]]:
        return read_rows(self.layout.rejected)

    def records(self) -> list[str]:
        return sorted(one["record"] for one in self.rejected())

    def delta(self, version: int | None = None) -> DeltaTable:
        return open_table(self.layout.table, version)

    def log(self, table: Path | None = None) -> list[str]:
        """The names of the commits of a Delta table, the good one by default."""
        folder = (table or self.layout.table) / "_delta_log"
        return sorted(path.name for path in folder.glob("*.json")) if folder.is_dir() else []
