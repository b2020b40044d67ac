"""A part of the index of input files: a SQLite file that is written once and never changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tidemill.contract.errors import TransientError
from tidemill.ledger.input_file import InputFile

# The row's id is the place of its path: a later segment gives a path that is read again the same.
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
INSERT OR REPLACE INTO inputs (rowid, source, path, size, modified_ms, inode, sha256, rows)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
ALL = "SELECT rowid, source, path, size, modified_ms, inode, sha256, rows FROM inputs"
AT = ALL + " WHERE source = ? AND path = ?"
CONTENTS = """
SELECT rowid, sha256, path FROM inputs WHERE source = ? AND size = ? AND sha256 IS NOT NULL
"""
PUT_FOLDER = "INSERT OR IGNORE INTO folders VALUES (?, ?)"
# A file and the place of its path: the earlier a path was first read, the smaller.
Placed = tuple[int, InputFile]


class SegmentDamaged(TransientError):
    """A disk gives back other bytes of a segment than it was given; carries `path`."""


class InputSegment:
    """A segment that is there whole.

    Args:
        path: Its file on a disk, which may be removed once it is open.

    Attributes:
        path: The same.
        last_place: The greatest place in it, 0 where no file is in it.

    Raises:
        sqlite3.Error: it is gone, or is not such a file. Any look at it raises SegmentDamaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        address = f"file:{quote(str(path))}?mode=ro&immutable=1"
        # A look from another thread, such as the triggerer's, comes after the one before it.
        self._open = sqlite3.connect(address, uri=True, check_same_thread=False)
        (last,) = self._open.execute("SELECT max(rowid) FROM inputs").fetchone()
        self.last_place: int = last or 0

    def at(self, source: str, path: str) -> Placed | None:
        """What was read from a path; None where nothing was."""
        found = next(self._rows(AT, source, path), None)
        return None if found is None else _placed(*found)

    def contents(self, source: str, size: int) -> Iterator[tuple[int, str, str]]:
        """Place, hash and path of the files of some size."""
        yield from self._rows(CONTENTS, source, size)

    def places(self, upto: int) -> Iterator[int]:
        """The places that are not greater than some number."""
        for (place,) in self._rows("SELECT rowid FROM inputs WHERE rowid <= ?", upto):
            yield place

    def folders(self, source: str) -> set[Path]:
        """The folders of the files that were read."""
        rows = self._rows("SELECT folder FROM folders WHERE source = ?", source)
        return {Path(folder) for (folder,) in rows}

    def copy_into(self, other: sqlite3.Connection) -> None:
        """Make an empty database the same as this one."""
        self._open.backup(other)

    def add_to(self, other: sqlite3.Connection) -> None:
        """Put all that is in it into a database, in the place of what that knows of the paths."""
        other.executemany(PUT, self._rows(ALL))
        other.executemany(PUT_FOLDER, self._rows("SELECT source, folder FROM folders"))

    def _rows(self, question: str, *values: str | int) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._open.execute(question, values)
        except sqlite3.DatabaseError as error:
            # It only saves work.
            with suppress(OSError):
                self.path.unlink()
            raise SegmentDamaged(
                f"{self.path} is damaged ({error}); it was removed.",
                remedy="The next try does without it. If it comes again, have the disk examined.",
                path=self.path,
            ) from error


def write_segment(draft: Path, merged: Sequence[InputSegment], files: Iterable[Placed]) -> int:
    """Write a segment, which is not synced.

    Args:
        draft: A file on a disk that is not there.
        merged: The segments in whose place it comes, the oldest first; they stay as they are.
        files: What was read since then; no two of one path.

    Returns:
        The number of its files.
    """
    with closing(sqlite3.connect(draft)) as segment:
        segment.execute("PRAGMA journal_mode = OFF")
        segment.execute("PRAGMA synchronous = OFF")
        for one in merged[:1]:
            one.copy_into(segment)
        segment.executescript(TABLES)
        for one in merged[1:]:
            one.add_to(segment)
        folders = set()
        for place, file in files:
            segment.execute(PUT, _row(place, file))
            folders.add((file.source, str(file.on_disk.parent)))
        segment.executemany(PUT_FOLDER, sorted(folders))
        segment.commit()
        (count,) = segment.execute("SELECT count(*) FROM inputs").fetchone()
    return int(count)


def _row(place: int, file: InputFile) -> tuple[str | int | None, ...]:
    known = (file.size, file.modified_ms, file.inode, file.sha256, file.rows)
    return (place, file.source, file.path, *known)


def _placed(
    place: int,
    source: str,
    path: str,
    size: int | None,
    modified_ms: int,
    inode: int | None,
    sha256: str | None,
    rows: int | None,
) -> Placed:
    # It was checked when the batch was written; a large folder has a hundred thousand of them.
    file = InputFile.model_construct(
        source=source,
        path=path,
        size=size,
        modified_ms=modified_ms,
        inode=inode,
        sha256=sha256,
        rows=rows,
    )
    return place, file
