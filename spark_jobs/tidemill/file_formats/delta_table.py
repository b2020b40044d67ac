"""Opens a Delta table, on a disk or in an object store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tidemill.contract.objects.object_path import ObjectPath
from tidemill.contract.objects.root_connection import storage_options

if TYPE_CHECKING:
    from deltalake import DeltaTable


def open_table(path: Path, version: int | None = None) -> DeltaTable:
    """A version of the Delta table at a path; the newest where not given."""
    from deltalake import DeltaTable

    return DeltaTable(str(path), version=version, storage_options=options_at(path))


def options_at(path: Path) -> dict[str, str] | None:
    """What delta-rs must know to reach a path; None for one on a disk."""
    return storage_options() if isinstance(path, ObjectPath) else None
