"""Data files that no log names: orphans of killed drivers, and files that a table has replaced."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from tidemill.contract.layout import FIRST_GENERATION, Layout
from tidemill.contract.objects.object_path import path_of
from tidemill.file_formats.delta import data_files
from tidemill.file_formats.delta_log import has_table
from tidemill.file_formats.delta_table import open_table
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.published_files import files_now
from tidemill.ledger.batch import Batch
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.orphans import orphan_files
from tidemill.steps.upkeep.leftover import Leftover, leftover
from tidemill.storage import documents

# Delta's own default: its checkpoints forget for how long an older file has been replaced.
REPLACED_FILES_KNOWN = timedelta(days=7)


def orphans(snapshot: Snapshot, before: float) -> Iterator[Leftover]:
    """Files in the folders of sinks that no log, batch record, manifest or table names.

    Generations that are being built are left alone, and so is one with an unfinished batch.

    Args:
        before: Younger files stay; in seconds since 1970.

    Raises:
        Refused: a log is damaged, so that it does not tell which files it names.
    """
    layout = snapshot.layout
    generations = [FIRST_GENERATION, *(one.generation for one in snapshot.takeovers)]
    named: set[str] | None = None
    for generation in generations:
        note = read_note(layout, generation)
        if note is None or note.writes == "nothing":
            continue
        found = orphan_files(layout, generation) or {}
        old = {path for path, status in found.items() if status.st_mtime < before}
        if old and named is None:
            named = {*_published(layout)}
        for path in sorted(old - {*_recorded(layout, generation)} - (named or set())):
            file = path_of(path)
            for one in (file, file.with_name(f".{file.name}.crc")):
                seen = leftover("orphan", one)
                if seen is not None:
                    yield seen


def replaced(layout: Layout, retention: timedelta) -> Iterator[Leftover]:
    """The tables' own files that no version within the retention names.

    Files in the folders of sinks are never among them: the ledger names those.
    """

    hours = math.ceil(retention / timedelta(hours=1))
    for table in (layout.table, layout.rejected):
        if not has_table(table):
            continue
        names = open_table(table).vacuum(
            retention_hours=hours,
            dry_run=True,
            enforce_retention_duration=False,
            # Also files that no version ever named, where the log still tells them from others.
            full=retention <= REPLACED_FILES_KNOWN,
        )
        for name in sorted(names):
            parts = Path(name).parts
            if not any(part.startswith(("_", ".")) for part in parts):
                seen = leftover("replaced", table / name)
                if seen is not None:
                    yield seen


def _recorded(layout: Layout, generation: str) -> Iterator[str]:
    """The files of all batches that the ledger of a generation has."""
    sink = layout.sink(generation)
    for _, path in documents.numbered(layout.ledger(generation)):
        batch = documents.read(path, Batch)
        if batch is not None:
            yield from (str(sink / file.path) for file in batch.outputs)


def _published(layout: Layout) -> Iterator[str]:
    """The files that readers see, by the table's log and by the lists of files."""
    yield from (str(layout.home / file.path) for file in files_now(layout))
    if has_table(layout.table):
        yield from map(str, data_files(layout.table))
