"""Deletes or archives one object of a store, the one that was copied and no other.

An archived object is read on the condition that it has the content that was copied, written to its
new place, and deleted on the same condition. So a kill anywhere is taken up by the next try.
"""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from tidemill.contract.objects.errors import ObjectReplacedMeanwhile
from tidemill.sources.files.archive import Kept
from tidemill.sources.files.objects.deletion import Deletion
from tidemill.sources.files.objects.fetched import FetchedObject
from tidemill.sources.files.objects.object_store import ObjectStore

Check = Callable[[], None]
PART_BYTES = 16 * 2**20
REPLACED = "it was replaced after it was copied"


def delete(store: ObjectStore, copied: FetchedObject, check: Check) -> None:
    """Delete an object that is what was copied.

    Args:
        store: One that deletes on condition.
        check: Called before each step that cannot be undone; raises where nothing may be written.

    Raises:
        Kept: it is not, or the store does not say what its content is.
        ObjectStoreUnreachable, ObjectStoreRefuses: the store does not do it.
    """
    if copied.etag is None:
        raise Kept("the store gives it no etag")
    check()
    if store.delete(copied.key, copied.etag) not in (Deletion.DELETED, Deletion.GONE):
        raise Kept(REPLACED)


def archive(
    store: ObjectStore, copied: FetchedObject, to: ObjectStore, scratch: Path, check: Check
) -> None:
    """Move an object that is what was copied.

    Args:
        to: The archive; the object has the same key there.
        scratch: A directory with room for the object.

    Raises:
        Kept: it is not what was copied, or another object is in the archive under its key.
        ObjectStoreUnreachable, ObjectStoreRefuses: a store does not do it.
        OSError: the scratch directory has no room.
    """
    found = store.find(copied.key)
    if found is None:
        there = to.find(copied.key)
        if there is not None and there.size == copied.size:
            return
        raise Kept("it is gone")
    if not copied.is_content_of(found):
        raise Kept(REPLACED)
    with TemporaryFile(dir=scratch) as content:
        try:
            store.read(found, content)
        except ObjectReplacedMeanwhile:
            raise Kept(REPLACED) from None
        check()
        _write(to, copied.key, content)
    delete(store, copied, check)


def _write(to: ObjectStore, key: str, content: BinaryIO) -> None:
    there = to.find(key)
    if there is None:
        content.seek(0)
        to.write(key, content)
        return
    with TemporaryFile() as other:
        to.read(there, other)
        if not _same(content, other):
            raise Kept(f"{to.url}/{key} is there already")


def _same(one: BinaryIO, other: BinaryIO) -> bool:
    one.seek(0)
    other.seek(0)
    while part := one.read(PART_BYTES):
        if other.read(PART_BYTES) != part:
            return False
    return not other.read(1)
