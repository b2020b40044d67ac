"""Syncs files and their folders, so that they survive a power cut.

Spark, Hadoop and delta-rs sync nothing. Our own documents are synced, so that whatever one of them
vouches for has to be on the disk before it: else the ledger knows rows that no file holds.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tidemill.contract.objects.object_path import ObjectPath


def sync(files: Iterable[Path], within: Path) -> None:
    """Have files, and the names by which they are found, survive a power cut; each once.

    Args:
        files: Those that are gone again are left out: Spark renames and expires some at any time.
        within: The folder above which names are taken for granted.
    """
    if isinstance(within, ObjectPath):
        # What a store has acknowledged is there to stay: the files need not even be listed.
        return
    folders: set[Path] = set()
    for file in dict.fromkeys(files):
        with suppress(FileNotFoundError):
            _sync(file)
            folders.update(parent for parent in file.parents if parent.is_relative_to(within))
    for folder in sorted(folders, reverse=True):
        sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder survive a power cut."""
    _sync(folder)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, under names that survive a power cut."""
    if isinstance(folder, ObjectPath):
        return
    missing = []
    while not folder.is_dir() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
        sync_folder(one.parent)


def put_whole(file: Path, text: str) -> None:
    """Write a file of Spark's, or write it again: under its name it is whole or as it was.

    A checksum of what was there before would brick it, and goes first.
    """
    if isinstance(file, ObjectPath):
        file.write_text(text)
        return
    draft = file.with_name(f".{file.name}.tidemill")
    with draft.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    draft.replace(file)
    sync_folder(file.parent)


def _sync(path: Path) -> None:
    if isinstance(path, ObjectPath):
        # What a store has acknowledged is there to stay.
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
