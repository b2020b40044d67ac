"""Syncs Delta commits, so that they survive a power cut: delta-rs does not.

The data files that a commit adds are synced before it by whoever wrote them: a commit that names
files which are not there would count as published all the same.
"""

from pathlib import Path

from tidemill.file_formats.delta_log import DIGITS, LOG
from tidemill.storage.sync import sync


def sync_table(table: Path, within: Path, since: int = 0) -> None:
    """Sync a table's commits and the checkpoints of its log.

    Args:
        within: The folder above which names are taken for granted.
        since: The first version; earlier ones are known to be on the disk.
    """
    log = table / LOG
    if not log.is_dir():
        return
    entries = [path for path in sorted(log.iterdir()) if _version(path) >= since]
    sync([*entries, log / "_last_checkpoint"], within)


def _version(path: Path) -> int:
    """The version of a commit or checkpoint; -1 for other files, such as delta-rs's drafts."""
    number = path.name[:DIGITS]
    whole = path.name.endswith((".json", ".parquet"))
    return int(number) if whole and number.isdecimal() else -1
