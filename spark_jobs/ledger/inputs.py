"""What lies in a file source's directory, against what the ledger says was read.

Spark passes over late files, files that grew and files delivered again under an old name, without a
word (failure-modes rows 16 to 19). Here they become findings.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatch
from glob import glob, has_magic
from pathlib import Path

from spark_jobs.contract.errors import Refused
from spark_jobs.contract.file_source import FileSource
from spark_jobs.ledger.batches import Batch, InputFile


class InputMissing(Refused):
    """The source's directory does not exist; carries `path`."""


class InputChanged(Refused):
    """A file that was read has changed since; what it holds now will never be read."""


class InputTooOld(Refused):
    """A file is older than `maxFileAge` lets Spark see; it will never be read."""


@dataclass(frozen=True)
class Found:
    """A file in the source's directory."""

    path: Path
    size: int
    modified_ms: int


@dataclass(frozen=True)
class Scan:
    """The source's directory as it is now.

    Args:
        new: Files that the next run will read.
        changed: Files that were read and have changed since.
        too_old: Files that Spark will pass over.
        last_arrival: The newest file's time; None where nothing ever arrived.
    """

    new: tuple[Found, ...]
    changed: tuple[Found, ...]
    too_old: tuple[Found, ...]
    last_arrival: datetime | None

    @property
    def backlog_bytes(self) -> int:
        return sum(file.size for file in self.new)


def scan(source: FileSource, batches: list[Batch]) -> Scan:
    """Compare the directory with the ledger.

    Raises:
        InputMissing: the directory, or the fixed part of a glob, does not exist.
    """
    read = {file.path: file for batch in batches for file in batch.inputs}
    found = list(listing(source))
    unread = [file for file in found if str(file.path) not in read]
    newest = max(
        [f.modified_ms for f in read.values()] + [f.modified_ms for f in found], default=None
    )
    seen = max((file.modified_ms for file in read.values()), default=None)
    too_old = tuple(file for file in unread if _too_old(file, source, seen))
    return Scan(
        new=tuple(file for file in unread if file not in too_old),
        changed=tuple(f for f in found if str(f.path) in read and _changed(f, read[str(f.path)])),
        too_old=too_old,
        last_arrival=datetime.fromtimestamp(newest / 1000, UTC) if newest is not None else None,
    )


def listing(source: FileSource) -> Iterator[Found]:
    """The files that Spark would list: no hidden ones, by `pathGlobFilter` where one is given."""
    pattern = source.reader_options.get("pathGlobFilter", "*")
    for place in _places(source):
        for path in sorted(_files(place)):
            if fnmatch(path.name, pattern):
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                yield Found(path, status.st_size, status.st_mtime_ns // 1_000_000)


def _places(source: FileSource) -> list[Path]:
    if has_magic(source.path):
        fixed = Path(source.path.partition("*")[0].partition("?")[0].partition("[")[0])
        if not (fixed if fixed.is_dir() else fixed.parent).is_dir():
            raise _missing(source)
        return [Path(match) for match in sorted(glob(source.path))]  # noqa: PTH207 - absolute
    if not Path(source.path).is_dir():
        raise _missing(source)
    return [Path(source.path)]


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
        return
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if not _hidden(name)]
        yield from (Path(folder, name) for name in names if not _hidden(name))


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _changed(now: Found, then: InputFile) -> bool:
    return now.modified_ms != then.modified_ms or then.size not in (None, now.size)


def _too_old(file: Found, source: FileSource, seen: int | None) -> bool:
    if source.maxFileAge is None or source.latestFirst or seen is None:
        return False
    return file.modified_ms < seen - source.maxFileAge.total_seconds() * 1000


def _missing(source: FileSource) -> InputMissing:
    return InputMissing(
        f"sources.*.path '{source.path}' does not exist.",
        remedy=f"Create it (mkdir -p '{source.path}') or correct the path in the spec.",
        path=source.path,
        field="sources.*.path",
    )
