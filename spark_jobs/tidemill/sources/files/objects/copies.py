"""Copies objects to files: each whole or not at all, with the time that it has in the store."""

import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tidemill.contract.objects.found_object import FoundObject
from tidemill.sources.files.objects.object_store import ObjectStore
from tidemill.storage.disk_errors import disk_errors
from tidemill.storage.sync import make_folder, sync

AT_ONCE = 8


def copy_objects(
    store: ObjectStore, objects: Sequence[FoundObject], directory: Path, pipeline: str
) -> None:
    """Copy objects into a directory, and have the copies survive a power cut.

    Args:
        directory: Made where it is missing; a key `a/b.csv` becomes the file `a/b.csv` in it.
        pipeline: The name of whose lease is held: what an earlier run of it left half-copied goes.

    Raises:
        ObjectStoreUnreachable: the store does not answer; transient.
        ObjectReplacedMeanwhile: an object was replaced since; transient.
        ObjectStoreRefuses: an object is not ours to read.
        DiskFull: there is no space left; transient.
    """
    drafts = directory / f".{pipeline}.tidemill"
    with disk_errors(drafts):
        shutil.rmtree(drafts, ignore_errors=True)
        make_folder(drafts)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            jobs = [
                pool.submit(_copy, store, one, drafts / str(number), directory / one.key)
                for number, one in enumerate(objects)
            ]
        for job in jobs:
            job.result()
        drafts.rmdir()
        sync([directory / one.key for one in objects], directory)


def _copy(store: ObjectStore, found: FoundObject, draft: Path, copy: Path) -> None:
    with draft.open("wb") as file:
        store.read(found, file)
    nanoseconds = found.modified_ms * 1_000_000
    os.utime(draft, ns=(nanoseconds, nanoseconds))
    copy.parent.mkdir(parents=True, exist_ok=True)
    draft.replace(copy)
