"""Reads the log of a Delta table without loading the table."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from tidemill.contract.objects.object_path import ObjectPath

LOG = "_delta_log"
# The digits of a version in a log file's name.
DIGITS = 20


def has_table(path: Path) -> bool:
    """Whether readers find a Delta table at a path."""
    if isinstance(path, ObjectPath):
        # While delta-rs asks a store for it no other thread of this process runs, so that a slow
        # answer would stop the heartbeat (deltalake 1.6.6).
        return (path / LOG).is_dir() and torn_first_entry(path) is None
    from deltalake import DeltaTable

    return DeltaTable.is_deltatable(str(path)) and torn_first_entry(path) is None


def torn_first_entry(path: Path) -> Path | None:
    """The first entry of a table's log, where a power cut left it torn and nothing came after it.

    No living writer leaves one: delta-rs links an entry when it is whole. No row of it counts
    either: the journal says that an event was applied only after the entry was synced.

    Args:
        path: The table's directory, which may be missing.
    """
    first, second = (path / LOG / f"{version:0{DIGITS}d}.json" for version in (0, 1))
    if second.exists() or not first.exists():
        return None
    return first if actions_of(first) is None else None


def put_aside(entry: Path) -> Path:
    """Rename a torn entry of a table's log, so that it is never read; what it is called now."""
    return entry.rename(entry.with_name(f"{entry.name}.torn-{uuid.uuid4().hex[:8]}"))


def actions_of(entry: Path) -> list[dict[str, Any]] | None:
    """The actions of an entry of a table's log; None where the entry is torn or gone."""
    try:
        text = entry.read_text(encoding="utf-8")
        actions: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    except (ValueError, FileNotFoundError):
        return None
    return actions or None
