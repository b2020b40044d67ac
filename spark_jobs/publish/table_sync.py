"""Delta commits that survive a power cut: delta-rs syncs neither its log nor data files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from spark_jobs.ledger.sync import sync

LOG = "_delta_log"
# Of a version in the name of a log file.
DIGITS = 20


def sync_table(table: Path, within: Path, since: int = 0) -> None:
    """Sync a table's commits, the checkpoints of its log and the files that the commits add.

    Args:
        table: The table's directory.
        within: The folder above which names are taken for granted.
        since: The first version; earlier ones are known to be on the disk.
    """
    log = table / LOG
    if not log.is_dir():
        return
    entries = [path for path in sorted(log.iterdir()) if _version(path) >= since]
    files = [table / name for entry in entries for name in _added(entry)]
    sync([*files, *entries, log / "_last_checkpoint"], within)


def _version(path: Path) -> int:
    """That of a commit or checkpoint; -1 of anything else, such as a draft of delta-rs's."""
    number = path.name[:DIGITS]
    whole = path.name.endswith((".json", ".parquet"))
    return int(number) if whole and number.isdecimal() else -1


def _added(entry: Path) -> Iterator[str]:
    """The files that a commit adds, by their paths below the table's directory."""
    if entry.suffix != ".json":
        return
    for line in entry.read_text(encoding="utf-8").splitlines():
        added = json.loads(line).get("add") if line.startswith('{"add"') else None
        if added is not None:
            yield unquote(added["path"])
