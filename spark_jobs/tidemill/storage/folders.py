"""Folders on a disk or in an object store: what is in them, and their removal."""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EEXIST
from pathlib import Path
from stat import S_ISDIR
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tidemill.contract.objects.object_path import ObjectPath, ObjectStat

Stat = os.stat_result | ObjectStat
# Spark and readers of tables pass over a name with a dot.
CLAIM = ".claim"
COPY_BYTES = 8 * 2**20


class Entry(NamedTuple):
    """Something in a folder.

    Args:
        stat: As it was when the folder was listed; of a link, the link's own.
    """

    path: Path
    stat: Stat

    @property
    def is_dir(self) -> bool:
        return S_ISDIR(self.stat.st_mode)


def touched(entry: Entry) -> int:
    """When it was changed last, in nanoseconds, to sort by."""
    return entry.stat.st_mtime_ns


def names_in(folder: Path) -> list[str]:
    """The names in a folder, in any order.

    Raises:
        FileNotFoundError: there is no such folder.
    """
    if isinstance(folder, ObjectPath):
        return [path.name for path, _ in folder.scan()]
    return os.listdir(folder)  # noqa: PTH208 - a Path for each costs more than the list.


def has_file(folder: Path, name: str) -> bool:
    """Whether a file is in a folder."""
    if isinstance(folder, ObjectPath):
        return (folder / name).is_file()
    # Asked for often: a Path for each would cost more than the question.
    return os.path.exists(f"{folder}/{name}")  # noqa: PTH110


def entries(folder: Path) -> Iterator[Entry]:
    """What is in a folder, in any order; nothing where there is no such folder."""
    try:
        if isinstance(folder, ObjectPath):
            yield from (Entry(*found) for found in folder.scan_with_times())
            return
        for one in os.scandir(folder):
            try:
                yield Entry(folder / one.name, one.stat(follow_symlinks=False))
            except FileNotFoundError:
                # It was removed meanwhile.
                continue
    except FileNotFoundError:
        return


def walk(
    folder: Path, *, follow_links: bool = False
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """As `os.walk` from the top, with the folder as a path."""
    if isinstance(folder, ObjectPath):
        yield from folder.walk()
        return
    for place, folders, names in os.walk(folder, followlinks=follow_links):
        yield Path(place), folders, names


def copy_file(source: Path, target: Path) -> None:
    """Copy a file with its times; within a bucket the store does it, with a time of its own."""
    if isinstance(source, ObjectPath) and isinstance(target, ObjectPath):
        if source.bucket == target.bucket:
            source.client.copy(source.key, target.key)
            return
        with source.open("rb") as content, target.open("wb") as copy:
            shutil.copyfileobj(content, copy, COPY_BYTES)
    else:
        shutil.copy2(source, target)


def copy_folder(folder: Path, to: Path) -> list[Path]:
    """Copy the files of a folder, those behind links too; the copies are returned.

    Args:
        to: Need not be there; other files in it stay.
    """
    copies = []
    for place, _, names in walk(folder, follow_links=True):
        target = to / place.relative_to(folder)
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            copy_file(place / name, target / name)
            copies.append(target / name)
    return copies


def claim_folder(folder: Path) -> None:
    """Make a folder that only one process can make.

    In an object store it then holds a file, which says nothing.

    Raises:
        FileExistsError: it is there, or another process made it at the same time.
    """
    if not isinstance(folder, ObjectPath):
        folder.mkdir(parents=True)
        return
    claim, own = folder / CLAIM, uuid.uuid4().hex.encode()
    # It may be ours although it was there: the answer to a put that is repeated was lost.
    if folder.is_dir() or not (claim.create(own) or claim.read_bytes() == own):
        raise FileExistsError(EEXIST, os.strerror(EEXIST), str(folder))


def rename_folder(folder: Path, to: Path) -> None:
    """Give a folder another name.

    In an object store its files are copied to where nothing is left of an earlier try, one after
    the other; whoever reads them must know from elsewhere that all are there.
    """
    if not isinstance(folder, ObjectPath):
        folder.rename(to)
        return
    remove_folder(to)
    copy_folder(folder, to)
    remove_folder(folder)


@contextmanager
def draft_folder(place: Path, name: str) -> Iterator[Path]:
    """An empty folder on a disk to write files in, for `put_folder` to put in a place.

    Args:
        name: What it will be called there; a draft that a killed process left is removed.
    """
    if isinstance(place, ObjectPath):
        with TemporaryDirectory(prefix="tidemill-") as scratch:
            yield Path(scratch)
        return
    draft = place / f".{name}.draft"
    remove_folder(draft, missing_ok=True)
    draft.mkdir(parents=True)
    yield draft
    remove_folder(draft, missing_ok=True)


def put_folder(draft: Path, folder: Path) -> None:
    """Move a folder from a disk in the place of one that may be there.

    In an object store its files come one after the other.
    """
    remove_folder(folder, missing_ok=True)
    if not isinstance(folder, ObjectPath):
        draft.rename(folder)
        return
    for place, _, names in walk(draft):
        for name in names:
            put_file(place / name, folder / place.relative_to(draft) / name)


def keeps_times(path: Path) -> bool:
    """Whether a file can be given the time of another one, of which it is a copy."""
    return not isinstance(path, ObjectPath)


def remove_folder(folder: Path, *, missing_ok: bool = False) -> None:
    """Remove a folder and all that is in it.

    Args:
        missing_ok: Whether it may be gone, wholly or in part, or be in use.
    """
    if isinstance(folder, ObjectPath):
        folder.remove_all()
    else:
        shutil.rmtree(folder, ignore_errors=missing_ok)


def discard_folder(folder: Path, waste: Path) -> None:
    """Remove a folder, all of it at one blow where that can be.

    On a disk it is renamed first; in an object store its files go one after the other.

    Args:
        waste: The name that it is removed under: what a killed process left there is to be removed.
    """
    if not isinstance(folder, ObjectPath):
        waste.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(waste)
        folder = waste
    remove_folder(folder)


def keeps_versions(file: Path) -> bool:
    """Whether a bucket keeps what objects held before; False where it does not say, or on a disk.

    Args:
        file: Was written while the bucket was as it is.
    """
    if not isinstance(file, ObjectPath):
        return False
    try:
        return file.client.head(file.key).version is not None
    except FileNotFoundError:
        return False


def put_file(file: Path, path: Path) -> None:
    """Move a file to a path, perhaps in an object store, where it is whole or not there."""
    if isinstance(path, ObjectPath):
        with file.open("rb") as content:
            path.client.put(path.key, content)
        file.unlink()
    else:
        file.replace(path)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path to write a file at, which is put in its place when the block ends without an error.

    In an object store it is the path itself: there an object is whole, or not there.
    """
    if isinstance(path, ObjectPath):
        yield path
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    yield draft
    draft.replace(path)
