"""Opens a Delta table, on a disk or in an object store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemill.contract.objects.object_path import ObjectPath
from tidemill.contract.objects.root_connection import storage_options

if TYPE_CHECKING:
    from deltalake import DeltaTable

# An event is looked for where it was committed a moment ago.
RECENT = 10


def open_table(path: Path, version: int | None = None) -> DeltaTable:
    """A version of the Delta table at a path; the newest where not given."""
    from deltalake import DeltaTable

    return DeltaTable(str(path), version=version, storage_options=options_at(path))


def commits_of(table: DeltaTable) -> Iterator[dict[str, Any]]:
    """What the commits of a table say of themselves, the newest first.

    Those before the last few are read only by who goes on: delta-rs lets no other thread of the
    process run while it reads them (deltalake 1.6.6).
    """
    recent = table.history(RECENT)
    yield from recent
    if len(recent) >= RECENT:
        yield from table.history()[len(recent) :]


def options_at(path: Path) -> dict[str, str] | None:
    """What delta-rs must know to reach a path; None for one on a disk."""
    return storage_options() if isinstance(path, ObjectPath) else None
