"""The files that Spark's file source would list, found without Spark.

A file that Spark reads and we do not see would be skipped for ever, and one that we see and Spark
does not read would start a run for nothing, again and again.
"""

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tidemill.contract.errors import Refused
from tidemill.contract.syntax.hadoop_glob import python_globs
from tidemill.contract.syntax.unicode_text import is_unicode
from tidemill.sources.files.source_tree import files_below, paths_matching, readable
from tidemill.spec.sources.file import FileSource


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
    """

    files: tuple[Found, ...]
    overlooked: tuple[Found, ...]
    partitioned: bool = False
    not_utf8: tuple[Found, ...] = ()


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
    partitioned = False
    for place in _places(source, field):
        below = files_below(place, field)
        matching = [path for path in below if any(fnmatchcase(path.name, one) for one in patterns)]
        found = [path for path in matching if is_unicode(str(path))]
        not_utf8 += set(matching).difference(found)
        read = found if recursive else _read_without_recursion(place, found)
        partitioned |= not recursive and any(_in_partition(path, place) for path in read)
        files += read
        overlooked += set(found).difference(read)
    return Listing(
        tuple(_stat(sorted(files))),
        tuple(_stat(sorted(overlooked))),
        partitioned,
        tuple(_stat(sorted(not_utf8))),
    )


def _read_without_recursion(place: Path, found: list[Path]) -> list[Path]:
    partitioned = [path for path in found if _in_partition(path, place)]
    return partitioned or [path for path in found if path == place or path.parent == place]


def _in_partition(path: Path, place: Path) -> bool:
    return "=" in str(path.relative_to(place).parent)


def partition_columns(path: Path, source: FileSource) -> tuple[frozenset[str], frozenset[str]]:
    """The partition columns (in lower case) that Spark reads from a path, and those it does not.

    For files that a glob found, Spark 4.2 discovers no partitions without `basePath` (which
    means nothing to it without a glob), and none with `recursiveFileLookup`.
    """
    plain = source.directory == Path(source.path)
    base = source.path if plain else source.reader_option("basePath")
    named = _named(path.parent.relative_to(source.directory))
    if base is None or source.is_on("recursiveFileLookup") or not path.is_relative_to(base):
        return frozenset(), named
    read = _named(path.parent.relative_to(base))
    return read, named - read


def _named(folders: Path) -> frozenset[str]:
    return frozenset(name.partition("=")[0].lower() for name in folders.parts if "=" in name)


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
