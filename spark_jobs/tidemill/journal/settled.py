"""Settled history: up to which event and increment nothing can change any more.

A run that goes on with live data reads what is above that alone, so it costs what is new. The
documents here only save work: without them, or where they do not fit the journal, all is read.
"""

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path

from tidemill.contract.document import Document
from tidemill.contract.layout import Layout
from tidemill.journal.journal import event_file
from tidemill.storage import documents
from tidemill.storage.sync import make_folder, sync_folder

CLEARED = ".cleared"
# One is enough to read; the one before it serves a reader that has just listed it.
KEPT = 2


class Settled(Document):
    """The record that a beginning of a pipeline's history is settled.

    Each event up to `seq` was withdrawn, or every target has applied it; each increment up to
    `increment` is in one of these events, or nothing of it will ever go out.

    Attributes:
        seq: The number of the last settled event.
        event: The SHA-256 of that event's file: of another history the record says nothing.
        increment: The number of the last settled increment.
        targets: The names of the targets that have applied the events.
        sealed: Generation -> the last batch that a settled increment covers.
        published: Generation -> the last batch that a settled event published in order.
        epoch: Epoch of the writer's lease.
    """

    seq: int
    event: str
    increment: int
    targets: tuple[str, ...]
    sealed: Mapping[str, int]
    published: Mapping[str, int]
    epoch: int


def read_settled(layout: Layout, targets: Collection[str]) -> Settled | None:
    """The newest record of settled history; None where there is none that fits.

    Args:
        targets: The names of the targets that are published to. One that is not in the record may
            have to apply settled events.
    """
    found = _newest(layout.settled)
    if found is None or not set(targets) <= set(found.targets):
        return None
    sealed = layout.increments / f"{found.increment:06d}" / "sealed.json"
    fits = sealed.exists() and found.event == event_hash(layout, found.seq)
    return found if fits else None


def put_settled(layout: Layout, settled: Settled) -> None:
    """Add a record, and remove those before it."""
    documents.put_if_absent(layout.settled / f"{settled.seq:06d}.json", settled)
    for _, path in [*documents.numbered(layout.settled)][:-KEPT]:
        path.unlink(missing_ok=True)


def clear_settled(layout: Layout, epoch: int) -> None:
    """Let no record count that was written under a lease up to this one.

    For whoever takes back what a settled event says: a writer that was paused may add its record
    afterwards.
    """
    make_folder(layout.settled)
    (layout.settled / f"{epoch:06d}{CLEARED}").touch()
    sync_folder(layout.settled)


def event_hash(layout: Layout, seq: int) -> str | None:
    """The SHA-256 of an event's file, None where there is no such file."""
    try:
        return hashlib.sha256(event_file(layout.journal, seq).read_bytes()).hexdigest()
    except FileNotFoundError:
        return None


def _newest(folder: Path) -> Settled | None:
    cleared = max((epoch for epoch, _ in documents.numbered(folder, CLEARED)), default=-1)
    for _, path in reversed([*documents.numbered(folder)]):
        found = documents.read_if_whole(path, Settled)
        if found is not None and found.epoch > cleared:
            return found
    return None
