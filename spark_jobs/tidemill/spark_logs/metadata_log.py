"""Spark's metadata logs: one file per batch, a version line, then lines of JSON.

`offsets/`, `commits/`, `sources/<id>/` and `_spark_metadata/` are all of this kind (Spark's
`HDFSMetadataLog`). Hadoop's local file system does not sync a file before it renames it, so a
power cut can leave an entry empty; Spark notices only those that it happens to read.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tidemill.contract.errors import Refused
from tidemill.contract.layout import pipeline_holding
from tidemill.storage.folders import names_in

Entry = TypeVar("Entry", covariant=True)


def repair_of(path: Path) -> str:
    """The remedy for a damaged log.

    Args:
        path: A file or folder of the pipeline.
    """
    # Whether the ledger can give an entry back, or Spark do it again, only all logs together tell.
    name = pipeline_holding(path)
    return f"`tidemill checkpoint repair {name}` shows how it can be fixed, and asks first."


_VERSION = re.compile(r"v([1-9][0-9]*)")


class TornLogEntry(Refused):
    """A file of one of Spark's logs is empty or cut off; carries `file`, `batch`, `reason`."""


class UnsupportedLogVersion(Refused):
    """A log was written in a format we do not read; carries `file`, `batch`, `version`."""


@dataclass(frozen=True)
class LogFile:
    """One entry of a log, read but not yet understood.

    Args:
        batch: The id it is named by.
        version: From its first line.
        lines: The lines after the first.
    """

    file: Path
    batch: int
    version: int
    lines: tuple[str, ...]

    def json(self, line: int) -> dict[str, Any]:
        """A line as a JSON object.

        Raises:
            TornLogEntry: it is missing or is not a JSON object.
        """
        if line >= len(self.lines):
            raise self.torn(f"it ends after line {len(self.lines) + 1}")
        try:
            value = json.loads(self.lines[line])
        except ValueError as error:
            raise self.torn(f"line {line + 2} is not JSON") from error
        if not isinstance(value, dict):
            raise self.torn(f"line {line + 2} is not a JSON object")
        return value

    def torn(self, reason: str) -> TornLogEntry:
        return torn(self.file, self.batch, reason)


def torn(file: Path, batch: int | None, reason: str, remedy: str | None = None) -> TornLogEntry:
    return TornLogEntry(
        f"{file} is torn: {reason}.",
        remedy=remedy or repair_of(file),
        file=file,
        batch=batch,
        reason=reason,
    )


def batch_files(directory: Path, suffix: str = "") -> dict[int, Path]:
    """The entries of a log by batch id, in order; checksums and temporary files are left out."""
    found = {}
    if directory.is_dir():
        for name in names_in(directory):
            stem = name.removesuffix(suffix)
            if name.endswith(suffix) and stem.isascii() and stem.isdecimal():
                found[int(stem)] = directory / name
    return dict(sorted(found.items()))


def read_log_file(file: Path, batch: int, versions: Collection[int]) -> LogFile:
    """Read one entry.

    Args:
        file: The entry.
        versions: The format versions that the caller understands.

    Raises:
        FileNotFoundError: there is none (any more).
        TornLogEntry: it is empty, not UTF-8 or lacks the version line.
        UnsupportedLogVersion: it is of another version.
    """
    try:
        first, *lines = file.read_text("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise torn(file, batch, "it is not UTF-8") from error
    if not first and not lines:
        raise torn(file, batch, "it is empty")
    version = _VERSION.fullmatch(first)
    if version is None:
        raise torn(file, batch, "its first line is not a version")
    if int(version[1]) not in versions:
        raise UnsupportedLogVersion(
            f"{file} has the version {first}; known are "
            f"{', '.join(f'v{known}' for known in versions)}.",
            remedy="Run the pipeline with the Spark version it was run with so far.",
            file=file,
            batch=batch,
            version=int(version[1]),
        )
    return LogFile(file, batch, int(version[1]), tuple(lines))


@dataclass(frozen=True, eq=False)
class LogEntries(Mapping[int, Entry]):
    """The entries of a log by batch id, each read when it is asked for.

    A long-lived log has thousands of entries of which a step needs the last few.

    Args:
        files: Batch id -> its file.
        parse: Reads and understands one entry.
    """

    files: Mapping[int, Path]
    parse: Callable[[Path, int], Entry]

    def __getitem__(self, batch: int) -> Entry:
        return self.parse(self.files[batch], batch)

    def __iter__(self) -> Iterator[int]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __contains__(self, batch: object) -> bool:
        return batch in self.files
