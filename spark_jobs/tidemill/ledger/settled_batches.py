"""Settled batches: what doctors ask of a ledger's older batches, folded so that none is read again.

A record and its index of input files (`ledger.input_index`) only save work. They count where the
record fits the ledger and the index is the file that the record names: the one that was written
with it, unchanged since, or one of the same bytes. If not, the batches themselves are read.
"""

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from tidemill.contract.document import Document, FrozenModel
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_index import InputIndex, write_index
from tidemill.storage import documents
from tidemill.storage.folders import copy_file, put_file
from tidemill.storage.sync import make_folder, sync

# A run reads at most as many settled batches as this, and a record is written once in as many.
EVERY = 100
# One is enough to read; the one before it serves a reader that has just listed it.
KEPT = 2


class SettledSource(FrozenModel):
    """What settled batches read of one source.

    Attributes:
        files: The number of its files.
        newest_ms: The newest file's time of modification, in milliseconds since the epoch.
        brought: When the last batch was committed that read files of it.
        read: Whether a batch has an offset of it.
    """

    files: int = 0
    newest_ms: int | None = None
    brought: datetime | None = None
    read: bool = False


class FileStamp(FrozenModel):
    """What the file system says of a file that nothing has written to since.

    Attributes:
        changed_ns: When it was last written, renamed or linked, in nanoseconds since 1970, which no
            program can set.
    """

    inode: int
    size: int
    changed_ns: int


class SettledBatches(Document):
    """The record of a ledger's first batches.

    Attributes:
        last: The last of the batches.
        batch: The SHA-256 of that batch's file: of another ledger the record says nothing.
        index: The SHA-256 of the index of input files, which is its name too.
        stamp: The stamp of the index's file; None in older documents.
    """

    last: int
    batch: str
    index: str
    sources: Mapping[str, SettledSource]
    stamp: FileStamp | None = None


def last_settled(ledger: Path) -> int | None:
    """The last batch of the newest record that fits the ledger; None where there is none.

    Args:
        ledger: The folder of the ledger.
    """
    return next((record.last for record in _fitting(ledger)), None)


def read_settled_batches(
    ledger: Path, *, thorough: bool = False
) -> tuple[SettledBatches, InputIndex] | None:
    """The newest record that counts, with its index; None where there is none.

    Args:
        ledger: The folder of the ledger.
        thorough: Whether the index is read from its first byte to its last, also where its file is
            the one that was written.
    """
    for found in _fitting(ledger):
        index = index_of(ledger, found)
        unchanged = found.stamp is not None and found.stamp == _stamp_of(index)
        if (unchanged and not thorough) or _hash_of(index) == found.index:
            with suppress(sqlite3.Error):
                return found, InputIndex(index)
    return None


def _fitting(ledger: Path) -> Iterator[SettledBatches]:
    """The records that fit the ledger, the newest first."""
    for _, path in reversed([*documents.numbered(folder_of(ledger))]):
        found = documents.read_if_whole(path, SettledBatches)
        if found is not None and _hash_of(ledger / f"{found.last:06d}.json") == found.batch:
            yield found


def settle_batches(
    ledger: Path,
    batches: Sequence[Batch],
    before: tuple[SettledBatches, InputIndex] | None,
) -> None:
    """Write a record of a ledger's first batches, and remove older ones.

    Args:
        ledger: The folder of the ledger.
        batches: The batches since the record before, in order.
        before: The record to go on from; None to begin with the first batch.
    """
    known, index = before if before is not None else (None, None)
    hashed = _hash_of(ledger / f"{batches[-1].batch:06d}.json")
    if hashed is None:
        return
    folder = folder_of(ledger)
    make_folder(folder)
    draft = write_index(folder, index, batches)
    try:
        # The stamp is to vouch for the content after a power cut too.
        sync([draft], folder)
        content = _hash_of(draft)
        if content is None:
            return
        record = SettledBatches(
            last=batches[-1].batch,
            batch=hashed,
            index=content,
            sources=_sources(known, batches, InputIndex(draft)),
        )
        place = index_of(ledger, record)
        put_file(draft, place)
        record = record.model_copy(update={"stamp": _stamp_of(place)})
    finally:
        draft.unlink(missing_ok=True)
    documents.put_if_absent(folder / f"{record.last:06d}.json", record)
    _remove_older(ledger)


def inherit_settled(ledger: Path, to: Path, last: int) -> None:
    """Copy the newest record to a ledger that begins with the same batches, as far as it fits.

    Args:
        ledger: The folder of the ledger that has the record.
        to: The folder of the other ledger, which holds batches up to `last`.
    """
    found = next((one for one in _fitting(ledger) if one.last <= last), None)
    if found is None:
        return
    make_folder(folder_of(to))
    place = index_of(to, found)
    try:
        copy_file(index_of(ledger, found), place)
    except FileNotFoundError:
        return
    sync([place], to)
    # Bytes that are not those of the record would be vouched for by the stamp.
    if _hash_of(place) != found.index:
        place.unlink(missing_ok=True)
        return
    record = found.model_copy(update={"stamp": _stamp_of(place)})
    documents.put_if_absent(folder_of(to) / f"{record.last:06d}.json", record)


def folder_of(ledger: Path) -> Path:
    """The folder of a ledger's records and indexes."""
    return ledger / "settled"


def index_of(ledger: Path, record: SettledBatches) -> Path:
    """The file of a record's index."""
    return folder_of(ledger) / f"{record.last:06d}-{record.index[:16]}.sqlite"


def _sources(
    known: SettledBatches | None, batches: Sequence[Batch], index: InputIndex
) -> dict[str, SettledSource]:
    found = dict(known.sources) if known is not None else {}
    for batch in batches:
        for name in {file.source for file in batch.inputs}:
            times = (found.get(name, SettledSource()).brought, batch.committed)
            brought = max(time for time in times if time is not None)
            found[name] = found.get(name, SettledSource()).model_copy(update={"brought": brought})
        for name in (name for name, offset in batch.offsets.items() if offset):
            found[name] = found.get(name, SettledSource()).model_copy(update={"read": True})
    for name, files, newest_ms in index.totals():
        update = {"files": files, "newest_ms": newest_ms}
        found[name] = found[name].model_copy(update=update)
    return found


def _remove_older(ledger: Path) -> None:
    folder = folder_of(ledger)
    records = [*documents.numbered(folder)]
    for _, path in records[:-KEPT]:
        path.unlink(missing_ok=True)
    oldest = min(number for number, _ in records[-KEPT:])
    for path in folder.glob("*.sqlite"):
        number = path.name.partition("-")[0]
        if number.isdecimal() and int(number) < oldest:
            path.unlink(missing_ok=True)


def _hash_of(path: Path) -> str | None:
    try:
        with path.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def _stamp_of(path: Path) -> FileStamp | None:
    if isinstance(path, ObjectPath):
        return None
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return FileStamp(inode=found.st_ino, size=found.st_size, changed_ns=found.st_ctime_ns)
