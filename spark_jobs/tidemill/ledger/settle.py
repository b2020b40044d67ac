"""Settles batches: writes a record of a ledger's first batches, and goes on from the one before.

A settlement costs what is new. The files that its batches have read become a segment of the index,
in the place of those before that are not much larger: so a file is written again once in each
doubling of the history, and a look goes through few segments.
"""

import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import gettempdir

from tidemill.contract.objects.object_path import ObjectPath
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_index import InputIndex
from tidemill.ledger.input_segment import Placed, write_segment
from tidemill.ledger.settled_batches import (
    IndexSegment,
    SettledBatches,
    file_of,
    fitting,
    folder_of,
    hash_of,
    stamp_of,
)
from tidemill.ledger.settled_source import with_batches
from tidemill.spark_logs.checkpoint_fork import link
from tidemill.storage import documents
from tidemill.storage.kept_copies import put_and_keep
from tidemill.storage.sync import make_folder, sync

# A run reads at most as many settled batches as this, and a record is written once in as many.
EVERY = 100
# One is enough to read; the one before it serves a reader that has just listed it.
KEPT = 2
# A segment with at most so many times the files of what comes after it is merged with that, and so
# is one with so few files that to write it again costs nothing.
RATIO = 2
FEW = 10_000


def settle_batches(
    ledger: Path, batches: Sequence[Batch], before: tuple[SettledBatches, InputIndex] | None
) -> bool:
    """Write a record of a ledger's first batches, and remove older ones.

    Args:
        ledger: The folder of the ledger.
        batches: The batches since the record before, in order.
        before: The record to go on from; None to begin with the first batch.

    Returns:
        False where a segment of the record before is not what was written: nothing can go on from
        that record.
    """
    known, index = before if before is not None else (None, InputIndex(()))
    hashed = hash_of(ledger / f"{batches[-1].batch:06d}.json")
    if hashed is None:
        return True
    last = batches[-1].batch
    read = {(file.source, file.path): file for batch in batches for file in batch.inputs}
    files = index.placed(read.values())
    segments = known.segments if known is not None else ()
    if files:
        kept = _kept(segments, len(files))
        if not _are_sound(ledger, segments, index, kept):
            return False
        new = _put_segment(ledger, last, index, kept, files)
        segments = (*segments[:kept], new)
    first_read = [file for place, file in files if place > index.last_place]
    sources = with_batches(known.sources if known is not None else {}, batches, first_read)
    record = SettledBatches(last=last, batch=hashed, sources=sources, segments=segments)
    documents.put_if_absent(folder_of(ledger) / f"{last:06d}.json", record)
    _remove_older(ledger)
    return True


def inherit_settled(ledger: Path, to: Path, last: int) -> None:
    """Give the newest record to a ledger that begins with the same batches, as far as it fits.

    Args:
        ledger: The folder of the ledger that has the record.
        to: The folder of the other ledger, which holds batches up to `last`.
    """
    found = next((one for one in fitting(ledger) if one.last <= last), None)
    if found is None:
        return
    make_folder(folder_of(to))
    segments = []
    for segment in found.segments:
        source, place = file_of(ledger, segment), file_of(to, segment)
        vouched = segment.stamp is not None and segment.stamp == stamp_of(source)
        try:
            link(source, place)
        except FileNotFoundError:
            return
        # Bytes that are not those of the record would be vouched for by the stamp.
        is_same = isinstance(place, ObjectPath) or (vouched and place.samefile(source))
        if not is_same and hash_of(place) != segment.sha256:
            place.unlink(missing_ok=True)
            return
        segments.append(segment.model_copy(update={"stamp": stamp_of(place)}))
    sync([file_of(to, segment) for segment in segments], to)
    record = found.model_copy(update={"segments": tuple(segments)})
    documents.put_if_absent(folder_of(to) / f"{record.last:06d}.json", record)


def _kept(segments: Sequence[IndexSegment], files: int) -> int:
    """How many segments stay as they are when so many files come after them."""
    kept = len(segments)
    while kept and segments[kept - 1].files <= max(RATIO * files, FEW):
        kept -= 1
        files += segments[kept].files
    return kept


def _are_sound(
    ledger: Path, segments: Sequence[IndexSegment], index: InputIndex, kept: int
) -> bool:
    """Whether segments can be gone on from: a disk may give back other bytes than it was given.

    Args:
        kept: How many of them are not merged: these are only to be there.
    """
    pairs = zip(segments[kept:], index.segments[kept:], strict=True)
    # A copy that could not be kept is gone; it was compared when it was fetched.
    return all(file_of(ledger, segment).is_file() for segment in segments[:kept]) and all(
        hash_of(opened.path) in (None, segment.sha256) for segment, opened in pairs
    )


def _put_segment(
    ledger: Path, last: int, index: InputIndex, kept: int, files: Iterable[Placed]
) -> IndexSegment:
    """Write the segment after those that are kept, under a name of its own, and put it in place."""
    folder = folder_of(ledger)
    make_folder(folder)
    local = Path(gettempdir()) if isinstance(folder, ObjectPath) else folder
    draft = local / f".{uuid.uuid4().hex}.draft"
    try:
        count = write_segment(draft, index.segments[kept:], files)
        # The stamp is to vouch for the content after a power cut too.
        sync([draft], folder)
        segment = IndexSegment(last=last, sha256=hash_of(draft) or "", files=count)
        place = file_of(ledger, segment)
        if isinstance(place, ObjectPath):
            put_and_keep(draft, place, segment.sha256)
        else:
            draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
    return segment.model_copy(update={"stamp": stamp_of(place)})


def _remove_older(ledger: Path) -> None:
    """Remove older records, and the segments that none of the others names."""
    folder = folder_of(ledger)
    records = [*documents.numbered(folder)]
    for _, path in records[:-KEPT]:
        path.unlink(missing_ok=True)
    kept = [documents.read_if_whole(path, SettledBatches) for _, path in records[-KEPT:]]
    named = {file_of(ledger, one).name for record in kept if record for one in record.segments}
    oldest = min(number for number, _ in records[-KEPT:])
    for path in folder.glob("*.sqlite"):
        number = path.name.partition("-")[0]
        if number.isdecimal() and int(number) < oldest and path.name not in named:
            path.unlink(missing_ok=True)
