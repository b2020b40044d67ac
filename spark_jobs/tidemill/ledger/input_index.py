"""An index of the input files that a ledger's batches have read, looked up by path or by size.

It is a SQLite file that is written once and never changed. All that is in it is in the batches.
"""

from __future__ import annotations

import shutil
import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import gettempdir
from urllib.parse import quote

from tidemill.contract.objects.object_path import ObjectPath
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile
from tidemill.storage.folders import local_copy

# A row keeps the place of its path's first reading, and says what the last one found.
TABLES = """
CREATE TABLE IF NOT EXISTS inputs (
    source TEXT NOT NULL,
    path TEXT NOT NULL,
    size INTEGER,
    modified_ms INTEGER NOT NULL,
    inode INTEGER,
    sha256 TEXT,
    rows INTEGER,
    UNIQUE (source, path)
);
CREATE INDEX IF NOT EXISTS inputs_by_size ON inputs (source, size) WHERE sha256 IS NOT NULL;
CREATE TABLE IF NOT EXISTS folders (
    source TEXT NOT NULL,
    folder TEXT NOT NULL,
    PRIMARY KEY (source, folder)
) WITHOUT ROWID;
"""
PUT = """
INSERT INTO inputs VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET size = excluded.size, modified_ms = excluded.modified_ms,
    inode = excluded.inode, sha256 = excluded.sha256, rows = excluded.rows
"""
AT = """
SELECT path, size, modified_ms, inode, sha256, rows FROM inputs WHERE source = ? AND path = ?
"""


class InputIndex:
    """An index that is there whole.

    Args:
        path: Its file, which may be removed once it is open.

    Raises:
        sqlite3.Error: it is gone, or is not such a file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with local_copy(path) as copy:
            address = f"file:{quote(str(copy))}?mode=ro&immutable=1"
            # A look from another thread, such as the triggerer's, comes after the one before it.
            self._open = sqlite3.connect(address, uri=True, check_same_thread=False)
            self._open.execute("SELECT 1 FROM inputs LIMIT 1")

    def at(self, source: str, path: str) -> InputFile | None:
        """What was read from a path; None where nothing was."""
        found = self._open.execute(AT, (source, path)).fetchone()
        return None if found is None else _input_file(source, *found)

    def contents(self, source: str, size: int) -> dict[str, str]:
        """Hash of a content of some size -> the path from which it was read first."""
        found: dict[str, str] = {}
        for sha256, path in self._open.execute(
            "SELECT sha256, path FROM inputs WHERE source = ? AND size = ?"
            " AND sha256 IS NOT NULL ORDER BY rowid",
            (source, size),
        ):
            found.setdefault(sha256, path)
        return found

    def folders(self, source: str) -> set[Path]:
        """The folders of the files that were read."""
        rows = self._open.execute("SELECT folder FROM folders WHERE source = ?", (source,))
        return {Path(folder) for (folder,) in rows}

    def totals(self) -> Iterator[tuple[str, int, int]]:
        """Each source, the number of its files and the newest one's time of modification."""
        yield from self._open.execute(
            "SELECT source, count(*), max(modified_ms) FROM inputs GROUP BY source"
        )


def write_index(folder: Path, before: InputIndex | None, batches: Sequence[Batch]) -> Path:
    """Write an index under a name of its own.

    Args:
        before: The index to go on from; it stays as it is.
        batches: The batches since then, in order.

    Returns:
        The file, which is not synced: on the disk of the folder, or of temporary files where that
        is in an object store.
    """
    name = f".{uuid.uuid4().hex}.draft"
    draft = Path(gettempdir(), name) if isinstance(folder, ObjectPath) else folder / name
    if before is not None:
        with local_copy(before.path) as copy:
            shutil.copyfile(copy, draft)
    with closing(sqlite3.connect(draft)) as index:
        index.execute("PRAGMA journal_mode = OFF")
        index.execute("PRAGMA synchronous = OFF")
        index.executescript(TABLES)
        files = [file for batch in batches for file in batch.inputs]
        index.executemany(PUT, (_row(file) for file in files))
        folders = {(file.source, str(file.on_disk.parent)) for file in files}
        index.executemany("INSERT OR IGNORE INTO folders VALUES (?, ?)", sorted(folders))
        index.commit()
    return draft


def _row(file: InputFile) -> tuple[str | int | None, ...]:
    known = (file.size, file.modified_ms, file.inode, file.sha256, file.rows)
    return (file.source, file.path, *known)


def _input_file(
    source: str,
    path: str,
    size: int | None,
    modified_ms: int,
    inode: int | None,
    sha256: str | None,
    rows: int | None,
) -> InputFile:
    # It was checked when the batch was written; a large folder has a hundred thousand of them.
    return InputFile.model_construct(
        source=source,
        path=path,
        size=size,
        modified_ms=modified_ms,
        inode=inode,
        sha256=sha256,
        rows=rows,
    )
