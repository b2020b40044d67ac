"""Checkpoints of a Delta table's log, so that readers open one file in place of many entries."""

from pathlib import Path

from tidemill.contract.layout import Layout
from tidemill.file_formats.delta_log import DIGITS, LOG
from tidemill.publish.delta import commit
from tidemill.publish.delta.table_sync import sync_table
from tidemill.storage.tables_read import is_read

# Readers open fewer entries than that one by one.
FEW_ENTRIES = 10


def entries_to_cover(table: Path) -> list[Path]:
    """The entries of a table's log that a checkpoint is due for; none where there are few.

    Args:
        table: The table's root, which may be missing.
    """
    log = table / LOG
    names = sorted(path.name for path in log.iterdir()) if log.is_dir() else []
    numbered = [name for name in names if name[:DIGITS].isdecimal()]
    covered = max((name[:DIGITS] for name in numbered if ".checkpoint" in name), default="")
    found = [
        log / name
        for name in numbered
        if name == f"{name[:DIGITS]}.json" and name[:DIGITS] > covered
    ]
    return found if len(found) >= FEW_ENTRIES else []


def checkpoint_log(layout: Layout, table: Path) -> None:
    """Write a checkpoint of a log, and remove entries as old as the table's own settings say.

    By Delta's default these are entries before a checkpoint that is older than 30 days. None of
    them goes where other pipelines read the table.
    """
    found = commit.load(table)
    if found is not None:
        found.create_checkpoint()
        if not is_read(layout):
            found.cleanup_metadata()
        sync_table(table, layout.root)
