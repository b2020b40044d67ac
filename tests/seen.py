"""What is there to be seen: the rows of a table, the files of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from spark_jobs.ledger.published import open_dataset


def read_rows(table: Path) -> list[dict[str, Any]]:
    """All rows of a Delta table; none where there is no table."""
    if not DeltaTable.is_deltatable(str(table)):
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
