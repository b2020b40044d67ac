"""Settled batches: what doctors ask of a ledger's older batches, folded so that none is read again.

A record and its index of input files (`ledger.input_index`) only save work. They count where the
record fits the ledger and each segment of the index is the file that the record names: the one that
was written, unchanged since, or one of the same bytes. If not, the batches themselves are read.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import model_validator

from tidemill.contract.content_hash import sha256_of
from tidemill.contract.document import Document, FrozenModel
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.ledger.input_index import InputIndex
from tidemill.ledger.input_segment import InputSegment
from tidemill.ledger.settled_source import SettledSource
from tidemill.storage import documents
from tidemill.storage.kept_copies import kept_copy


class FileStamp(FrozenModel):
    """What the file system says of a file that nothing has written to since.

    Attributes:
        changed_ns: When it was last written, renamed or linked, in nanoseconds since 1970, which no
            program can set.
    """

    inode: int
    size: int
    changed_ns: int


class IndexSegment(FrozenModel):
    """A segment of the index of input files, which several records may name.

    Attributes:
        last: The last of the batches that it is about.
        sha256: The hash of its file, which is its name too.
        files: The number of its files; 0 in older documents, so that it is merged with the next.
        stamp: Its file's; None in an object store.
    """

    last: int
    sha256: str
    files: int = 0
    stamp: FileStamp | None = None


class SettledBatches(Document):
    """The record of a ledger's first batches.

    Attributes:
        last: The last of the batches.
        batch: The SHA-256 of that batch's file: of another ledger the record says nothing.
        segments: Those of the index, the oldest first.
    """

    last: int
    batch: str
    sources: Mapping[str, SettledSource]
    segments: tuple[IndexSegment, ...]

    @model_validator(mode="before")
    @classmethod
    def _with_one_segment(cls, fields: Any) -> Any:
        """An older document names the one file of its index by its hash."""
        if not isinstance(fields, dict) or "index" not in fields:
            return fields
        kept = {name: value for name, value in fields.items() if name not in ("index", "stamp")}
        one = {"last": fields.get("last"), "sha256": fields["index"], "stamp": fields.get("stamp")}
        return {**kept, "segments": [one]}


def last_settled(ledger: Path) -> int | None:
    """The last batch of the newest record that fits the ledger; None where there is none.

    Args:
        ledger: The folder of the ledger.
    """
    return next((record.last for record in fitting(ledger)), None)


def read_settled_batches(ledger: Path) -> tuple[SettledBatches, InputIndex] | None:
    """The newest record that counts, with its index; None where there is none.

    Args:
        ledger: The folder of the ledger.

    Returns:
        The record has the stamps that the files have now.
    """
    for found in fitting(ledger):
        with suppress(sqlite3.Error, _NotWhole):
            opened = [_open(ledger, segment) for segment in found.segments]
            record = found.model_copy(update={"segments": tuple(one for one, _ in opened)})
            return record, InputIndex([segment for _, segment in opened])
    return None


class _NotWhole(Exception):
    """The file of a segment is gone, or is another."""


def _open(ledger: Path, segment: IndexSegment) -> tuple[IndexSegment, InputSegment]:
    stamp = stamp_of(file_of(ledger, segment))
    with _copy_of(ledger, segment) as copy:
        if copy is None:
            raise _NotWhole
        return segment.model_copy(update={"stamp": stamp}), InputSegment(copy)


@contextmanager
def _copy_of(ledger: Path, segment: IndexSegment) -> Iterator[Path | None]:
    """The file of a segment on a disk; None where it is not there as it was written."""
    path = file_of(ledger, segment)
    if isinstance(path, ObjectPath):
        with kept_copy(path, segment.sha256) as copy:
            yield copy
    elif segment.stamp is not None and segment.stamp == stamp_of(path):
        yield path
    else:
        yield path if hash_of(path) == segment.sha256 else None


def fitting(ledger: Path) -> Iterator[SettledBatches]:
    """The records that fit the ledger, the newest first."""
    for _, path in reversed([*documents.numbered(folder_of(ledger))]):
        found = documents.read_if_whole(path, SettledBatches)
        if found is not None and hash_of(ledger / f"{found.last:06d}.json") == found.batch:
            yield found


def folder_of(ledger: Path) -> Path:
    """The folder of a ledger's records and of the segments of its index."""
    return ledger / "settled"


def file_of(ledger: Path, segment: IndexSegment) -> Path:
    """The file of a segment."""
    return folder_of(ledger) / f"{segment.last:06d}-{segment.sha256[:16]}.sqlite"


def hash_of(path: Path) -> str | None:
    """The SHA-256 of a file; None where it is not there."""
    try:
        return sha256_of(path)
    except FileNotFoundError:
        return None


def stamp_of(path: Path) -> FileStamp | None:
    """The stamp of a file; None where it is not there, or is in an object store."""
    if isinstance(path, ObjectPath):
        return None
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return FileStamp(inode=found.st_ino, size=found.st_size, changed_ns=found.st_ctime_ns)
