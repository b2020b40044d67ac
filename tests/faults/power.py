"""A folder as a power cut leaves it: without what was not synced.

A file system may write at any time what it was not asked to, so there is no one answer. Two are
played: all names are there and files are empty whose content was not synced, as on ext4; or names
are gone as well whose folder was not synced. That a file was removed counts at once. A name over
which a file was renamed leads to that one or to the one before, if that was there at the beginning.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

Value = TypeVar("Value")
WRITES = ("write", "pwrite", "writev", "ftruncate", "copy_file_range", "sendfile")


@dataclass
class _Content:
    synced: bool = True
    folder: bool = False


@dataclass
class Disk:
    """What of a folder is on the disk.

    Args:
        names: Path -> its content, which links share.
        unsynced: Paths that may be gone -> where they were renamed from, if that was on the disk.
        replaced: Those of them that lead to the file before then -> its path at the beginning.
        begun: Path -> where it was at the beginning; a folder takes along what is in it.
    """

    names: dict[Path, _Content]
    unsynced: dict[Path, Path | None] = field(default_factory=dict)
    replaced: dict[Path, Path] = field(default_factory=dict)
    begun: dict[Path, Path] = field(init=False)

    def __post_init__(self) -> None:
        self.begun = {path: path for path in self.names}

    def follow(self, calls: Iterable[str]) -> None:
        """Go through what a process did, one line for each of its calls."""
        before = None
        for call in calls:
            name, _, text = call.partition(" ")
            path = Path(text)
            if name == "from":
                before = path
            elif name in ("open", "mkdir", "symlink"):
                self._make(path, _Content(folder=name == "mkdir"))
            elif name in WRITES and path in self.names:
                self.names[path].synced = False
            elif name in ("fsync", "fdatasync"):
                self._sync(path)
            elif name == "link" and before is not None:
                self._make(path, self.names.get(before, _Content()))
            elif name == "rename" and before is not None:
                self._rename(before, path)
            elif name in ("unlink", "rmdir"):
                self.names.pop(path, None)
                self.unsynced.pop(path, None)

    def _make(self, path: Path, content: _Content) -> None:
        if path not in self.names:
            self.names[path] = content
            self.unsynced[path] = None

    def _sync(self, path: Path) -> None:
        content = self.names.get(path)
        # A folder that was renamed later is not there any more under this name.
        if path.is_dir() if content is None else content.folder:
            self.unsynced = {p: at for p, at in self.unsynced.items() if p.parent != path}
        elif content is not None:
            content.synced = True

    def _rename(self, before: Path, path: Path) -> None:
        content = self.names.pop(before, None)
        if content is not None:
            if path in self.names and path not in self.unsynced:
                self.replaced[path] = self.begun.get(path, path)
            if content.folder:
                self._move(before, path)
            self.names[path] = content
            was = self.unsynced.pop(before, before) if before in self.unsynced else before
            self.unsynced[path] = was

    def _move(self, before: Path, path: Path) -> None:
        self.names = _moved(self.names, before, path)
        self.replaced = _moved(self.replaced, before, path)
        self.begun = _moved(self.begun, before, path)
        below = _moved(self.unsynced, before, path)
        self.unsynced = {at: _below(of, before, path) for at, of in below.items()}


def _moved(found: dict[Path, Value], before: Path, path: Path) -> dict[Path, Value]:
    """The names in a folder that was renamed are names in the new one."""
    return {_below(at, before, path) or at: value for at, value in found.items()}


def _below(at: Path | None, before: Path, path: Path) -> Path | None:
    if at is None or before not in at.parents:
        return at
    return path / at.relative_to(before)


def cut_power(folder: Path, start: Path, calls: Iterable[str], *, names: bool) -> None:
    """Leave a folder as a power cut does.

    Args:
        folder: That a process was writing to until it was killed.
        start: A copy of it from before; what is in it is on the disk.
        calls: What the process did, as the library reports it.
        names: Whether names are lost too.
    """
    there = {
        folder / path.relative_to(start): _Content(folder=path.is_dir())
        for path in start.rglob("*")
    }
    disk = Disk(there)
    disk.follow(calls)
    for path, content in disk.names.items():
        if not content.synced and path.is_file():
            os.truncate(path, 0)
    # What is in a folder goes first: its name leads there only until the folder's own is gone.
    for path, was in sorted(disk.unsynced.items(), reverse=True) if names else ():
        if not os.path.lexists(path):
            continue
        if path in disk.replaced:
            before = start / disk.replaced[path].relative_to(folder)
            if before.exists():
                shutil.copy2(before, path)
        elif was is not None:
            path.replace(was)
        elif path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
