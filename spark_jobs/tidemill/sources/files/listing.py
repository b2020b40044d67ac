"""The files that Spark's file source would list, found without Spark.

A file that Spark reads and we do not see would be skipped for ever, and one that we see and Spark
does not read would start a run for nothing, again and again.
"""

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote

from tidemill.contract.errors import Refused
from tidemill.contract.syntax.hadoop_glob import python_globs
from tidemill.contract.syntax.unicode_text import is_unicode
from tidemill.contract.syntax.unrepeatable_sql import is_of_today
from tidemill.sources.files.partition_values import is_mistyped
from tidemill.sources.files.source_tree import (
    files_below,
    is_hidden,
    may_be_data,
    paths_matching,
    readable,
)
from tidemill.spec.sources.file import FileSource

# Types of which Spark makes the value of a partition by a cast.
TIMES = frozenset(("date", "timestamp", "timestamp_ltz", "timestamp_ntz"))


class InputMissing(Refused):
    """The source's directory does not exist; carries `path`."""


@dataclass(frozen=True)
class Found:
    """A file in the source's directory."""

    path: Path
    size: int
    modified_ms: int
    inode: int


@dataclass(frozen=True)
class Listing:
    """The files in the source's directory.

    Args:
        files: What Spark reads.
        overlooked: What it never reads because of the directory it is in.
        partitioned: Whether what it reads is in partition directories.
        not_utf8: What it never sees because of a name that is not UTF-8, its own or a folder's.
        passed_over: What it never reads because the name is hidden, or a link leads nowhere.
    """

    files: tuple[Found, ...]
    overlooked: tuple[Found, ...]
    partitioned: bool = False
    not_utf8: tuple[Found, ...] = ()
    passed_over: tuple[Path, ...] = ()


def list_source(source: FileSource, field: str = "sources.*.path") -> Listing:
    """List a source as Spark 4.2 does.

    Hidden files are left out, and those that `pathGlobFilter` does not match. Without
    `recursiveFileLookup` Spark reads what is directly in the directory; if there is any partition
    directory (`k=v`), it reads what is in those, and nothing else.

    Args:
        source: What Spark lists.
        field: The spec's field that names the directory, for errors.

    Raises:
        InputMissing: the directory, or the fixed part of a glob, does not exist.
        InputUnreadable: it, or a folder in it, cannot be listed.
        InputCircular: links in it lead in circles.
    """
    with readable(field):
        return _list(source, field)


def _list(source: FileSource, field: str) -> Listing:
    patterns = python_globs(source.reader_option("pathGlobFilter") or "*")
    recursive = source.is_on("recursiveFileLookup")
    files: list[Path] = []
    overlooked: list[Path] = []
    not_utf8: list[Path] = []
    passed_over: list[Path] = []
    partitioned = False
    for place in _places(source, field):
        below = files_below(place, field)
        matching = [path for path in below if any(fnmatchcase(path.name, one) for one in patterns)]
        visible = [path for path in matching if not is_hidden(path.name)]
        passed_over += [path for path in matching if _hidden_data(path)]
        found = [path for path in visible if is_unicode(str(path))]
        not_utf8 += set(visible).difference(found)
        read = read_below(place, found, source)
        # Either all of it is in partitions or nothing is.
        partitioned |= not recursive and bool(_partitions(place, read[:1]))
        files += read
        overlooked += set(found).difference(read)
    there = tuple(_stat(sorted(files)))
    missing = set(files).difference(file.path for file in there)
    return Listing(
        there,
        tuple(_stat(sorted(overlooked))),
        partitioned,
        tuple(_stat(sorted(not_utf8))),
        tuple(sorted([*passed_over, *filter(Path.is_symlink, missing)])),
    )


def read_below(place: Path, found: list[Path], source: FileSource) -> list[Path]:
    """The files that Spark reads because of the directories they are in.

    Args:
        place: What Spark lists: a directory, or a file.
        found: The files in it, and in directories in it, that are not hidden.
    """
    if source.is_on("recursiveFileLookup"):
        return found
    partitions = _partitions(place, found)
    partitioned = [path for path in found if path.parent in partitions] if partitions else []
    return partitioned or [path for path in found if path == place or path.parent == place]


def _hidden_data(path: Path) -> bool:
    """Whether a file is hidden from Spark and holds something that may have been delivered."""
    if not is_hidden(path.name) or not may_be_data(path.name):
        return False
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return path.is_symlink()


def _partitions(place: Path, found: list[Path]) -> set[Path]:
    """The folders of files, below a place, that belong to partitions."""
    folders = {path.parent for path in found if path != place}
    return {folder for folder in folders if "=" in str(folder.relative_to(place))}


def partition_columns(path: Path, source: FileSource) -> tuple[frozenset[str], frozenset[str]]:
    """The partition columns (in lower case) that Spark reads from a path, and those it does not.

    For files that a glob found, Spark 4.2 discovers no partitions without `basePath` (which
    means nothing to it without a glob), and none with `recursiveFileLookup`.
    """
    read = _named(_levels(path.parent, source))
    return read, _named(path.parent.relative_to(source.directory).parts) - read


def is_nameless_partition(folder: Path, source: FileSource) -> bool:
    """Whether Spark would read a partition without a name or a value from a folder: `y=`."""
    return any(name.startswith("=") or name.endswith("=") for name in _levels(folder, source))


def is_partition_of_today(folder: Path, source: FileSource) -> bool:
    """Whether Spark would give a partition the date of the run, as it does to `at=12%3A30`."""
    times = {name.lower() for name, kind in source.types.items() if kind.name in TIMES}
    parts = (name.partition("=") for name in _levels(folder, source))
    return any(name.lower() in times and is_of_today(unquote(value)) for name, _, value in parts)


def is_mistyped_partition(folder: Path, source: FileSource) -> bool:
    """Whether Spark would fail at a folder's partition: `day=noon` where `day` is a date."""
    types = {name.lower(): kind for name, kind in source.types.items()}
    parts = (name.partition("=") for name in _levels(folder, source))
    wrong = any(
        name.lower() in types and is_mistyped(value, types[name.lower()])
        for name, _, value in parts
    )
    return wrong and not is_partition_of_today(folder, source)


def _levels(folder: Path, source: FileSource) -> tuple[str, ...]:
    """The names in a folder's path in which Spark looks for partitions."""
    plain = source.directory == Path(source.path)
    base = source.path if plain else source.reader_option("basePath")
    if base is None or source.is_on("recursiveFileLookup") or not folder.is_relative_to(base):
        return ()
    return folder.relative_to(base).parts


def _named(levels: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name.partition("=")[0].lower() for name in levels if "=" in name)


def _places(source: FileSource, field: str) -> list[Path]:
    fixed = source.directory
    if not _is_folder(fixed):
        raise _missing(source, field)
    if fixed == Path(source.path):
        return [fixed]
    return sorted({path for one in python_globs(source.path) for path in paths_matching(one)})


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _stat(paths: list[Path]) -> Iterator[Found]:
    for path in paths:
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        yield Found(path, status.st_size, status.st_mtime_ns // 1_000_000, status.st_ino)


def _missing(source: FileSource, field: str) -> InputMissing:
    return InputMissing(
        f"{field} '{source.path}' does not exist.",
        remedy=f"Create it (mkdir -p '{source.path}') or correct the path in the spec.",
        path=source.path,
        field=field,
    )
