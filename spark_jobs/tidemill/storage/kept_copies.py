"""Copies of objects that never change, kept among this machine's temporary files.

A copy is named by the hash of its content, so that what is there is not fetched again. It may be
removed at any time.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR
from tempfile import TemporaryDirectory, gettempdir

from tidemill.contract.content_hash import sha256_of
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.storage.folders import COPY_BYTES

UNUSED_SECONDS = 7 * 24 * 3600


@contextmanager
def kept_copy(path: ObjectPath, sha256: str) -> Iterator[Path | None]:
    """A copy of an object, which is fetched where none is kept.

    Args:
        sha256: The hash of its content.

    Yields:
        None where the object is gone, or has another content.
    """
    with _folder() as folder:
        copy = folder / sha256
        if _is_kept(copy):
            yield copy
            return
        _remove_unused(folder)
        yield copy if _fetch(path, copy) else None


def put_and_keep(file: Path, path: ObjectPath, sha256: str) -> None:
    """Put a temporary file in an object store; it becomes the copy that is kept.

    Args:
        sha256: The hash of its content.
    """
    with file.open("rb") as content:
        path.client.put(path.key, content)
    with _folder() as folder:
        _remove_unused(folder)
        file.replace(folder / sha256)


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder that no other user writes to; its own for this once, where the common one is not."""
    folder = Path(gettempdir(), f"tidemill-copies-{os.getuid()}")
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022:
        yield folder
        return
    with TemporaryDirectory(prefix="tidemill-") as own:
        yield Path(own)


def _is_kept(copy: Path) -> bool:
    try:
        # Says when it was last used.
        os.utime(copy)
    except FileNotFoundError:
        return False
    return True


def _fetch(path: ObjectPath, copy: Path) -> bool:
    """Fetch an object, where it has the content that the copy's name tells; whether it has."""
    draft = copy.with_name(f".{uuid.uuid4().hex}.draft")
    try:
        with path.open("rb") as content, draft.open("wb") as file:
            shutil.copyfileobj(content, file, COPY_BYTES)
        if sha256_of(draft) != copy.name:
            return False
        draft.replace(copy)
    except FileNotFoundError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def _remove_unused(folder: Path) -> None:
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < time.time() - UNUSED_SECONDS:
                path.unlink()
