"""Pins: which copy of a static input a batch reads.

A static input may change at any time, also while a query runs; and a batch that was planned and not
committed has to read the same again, whatever has become of the original. So a run copies what it
pins, once for each content, into the pipeline's own folder, and reads nothing but the copy.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from tidemill.contract.document import FrozenModel
from tidemill.contract.errors import Refused
from tidemill.storage.folders import draft_folder, keeps_times, put_folder, remove_folder

IDENTITY_LETTERS = 24
# The kind whose one row is about the run itself.
BATCH = "batch"


class StaticLost(Refused):
    """The copy that a planned batch must read again is gone; carries `static`, `file`."""


class PinnedFile(FrozenModel):
    """A file of a copy.

    Attributes:
        path: Relative to the copy's folder; of copied files also to the original's.
        modified_ms: When the original was modified, in milliseconds since the epoch.
        etag: What the object store that it was copied from calls its content.
    """

    path: str
    size: int
    modified_ms: int
    etag: str | None = None


class BatchTime(FrozenModel):
    """The run that took a batch in.

    Attributes:
        at: When it began to read.
        interval_start: The start of the data interval of Airflow's run.
        interval_end: Its end, exclusive.
    """

    at: datetime
    run_id: str
    interval_start: datetime | None = None
    interval_end: datetime | None = None


class StaticPin(FrozenModel):
    """One static input at one moment.

    Attributes:
        kind: The kind of the static input, as in the spec.
        identity: The name of the copy's folder: the same for the same content.
        rows: Where they were counted.
        table_schema: The copy's schema as Spark's JSON, where the spec names no columns.
        batch: The run, for the kind `batch`, which has no copy.
    """

    kind: str
    identity: str
    files: tuple[PinnedFile, ...]
    version: int | None = None
    rows: int | None = None
    table_schema: dict[str, Any] | None = None
    batch: BatchTime | None = None

    def missing_in(self, folder: Path) -> str | None:
        """The first file that a copy lacks, or that is another; None where it is whole."""
        return next((f.path for f in self.files if not _is_at(folder / f.path, f)), None)


def pin_batch(batch: BatchTime) -> StaticPin:
    """The pin of a static input of the kind `batch`."""
    return StaticPin(
        kind=BATCH, identity=identity_of(batch.model_dump(mode="json")), files=(), batch=batch
    )


def identity_of(*parts: Any) -> str:
    """A name for content, by what tells it from other content."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:IDENTITY_LETTERS]


def pinned_file(path: Path, folder: Path) -> PinnedFile:
    """A file as it is in a folder."""
    status = path.stat()
    return PinnedFile(
        path=str(path.relative_to(folder)),
        size=status.st_size,
        modified_ms=status.st_mtime_ns // 1_000_000,
    )


def put_copy(place: Path, identity: str, write: Callable[[Path], None]) -> Path:
    """A copy under its name; in an object store `StaticPin.missing_in` tells whether it is whole.

    Args:
        place: Where the copies of one static input are; the caller holds the lease.
        identity: The copy's name; one that is there is replaced.
        write: Writes the files into a folder that it is given.

    Returns:
        The copy's folder.
    """
    with draft_folder(place, identity) as draft:
        write(draft)
        put_folder(draft, place / identity)
    return place / identity


def keep_copies(place: Path, pins: Iterable[StaticPin]) -> None:
    """Remove the copies that no batch has read and none will.

    Args:
        place: Where the copies of one static input are.
        pins: The pins of the ledger's batches, of the planned batch and of the run.
    """
    kept = {pin.identity for pin in pins}
    for folder in place.iterdir() if place.is_dir() else ():
        if folder.name not in kept:
            remove_folder(folder)


def _is_at(path: Path, pinned: PinnedFile) -> bool:
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    then = status.st_mtime_ns // 1_000_000 if keeps_times(path) else pinned.modified_ms
    return (pinned.size, pinned.modified_ms) == (status.st_size, then)
