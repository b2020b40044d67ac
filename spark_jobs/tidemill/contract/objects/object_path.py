"""Paths in an object store that behave like those on a disk, as far as a store can.

Everything under `TIDEMILL_ROOT` is a `Path`. Where the root is in a bucket, it is an `ObjectPath`:
the same operations ask the store, and any call of the operating system that takes a path is
refused before it could touch the local disk.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PosixPath, PurePath
from stat import S_IFDIR, S_IFREG
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from pydantic import ValidatorFunctionWrapHandler, WrapValidator

from tidemill.contract.errors import Refused
from tidemill.contract.objects.object_file import ObjectReader, ObjectWriter
from tidemill.contract.objects.root_connection import client_of

if TYPE_CHECKING:
    from tidemill.contract.objects.client import ObjectClient
    from tidemill.contract.objects.found_object import FoundObject

READ_AHEAD_BYTES = 64 * 1024
URL = re.compile(r"(s3a)://([^/]+)(/.*)?", re.DOTALL)
# Ends the first part of a path. No system call takes it, so that a path which lost its class
# cannot name a local file.
_NOT_LOCAL = ":\0"


class LocalFileNeeded(Refused):
    """An operation works on local files only, and the root is in an object store; has `path`."""


@dataclass(frozen=True)
class ObjectStat:
    """The part of a `stat_result` that an object has."""

    st_size: int
    st_mtime_ns: int
    st_mode: int
    st_nlink: int = 1
    st_ino: int = 0
    st_dev: int = 0

    @property
    def st_mtime(self) -> float:
        return self.st_mtime_ns / 1e9


_FOLDER = ObjectStat(0, 0, S_IFDIR | 0o700)


class ObjectPath(PosixPath):
    """A path in a bucket; made by `path_of`. `str` gives its URL, as Spark and Delta take it.

    A folder is there while an object is below it, so that `mkdir` does nothing.
    """

    # -- what it is called ------------------------------------------------------------------

    def __str__(self) -> str:
        parts = self.parts
        if not self.root:
            return "/".join(parts) or "."
        scheme = parts[1].removesuffix(_NOT_LOCAL)
        return f"{scheme}://{'/'.join(parts[2:])}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __fspath__(self) -> NoReturn:
        raise LocalFileNeeded(
            f"{self} is in an object store, and this works on local files only.",
            remedy="Report it as a defect; with TIDEMILL_ROOT on a disk it works.",
            path=str(self),
        )

    def as_posix(self) -> str:
        return str(self)

    def as_uri(self) -> str:
        return str(self)

    def relative_to(self, *other: Any, **_: Any) -> Path:  # type: ignore[override]
        base = _parts(*other)
        if self.parts[: len(base)] != base:
            raise ValueError(f"'{self}' is not below '{PurePath(*other)}'")
        return Path(*self.parts[len(base) :])

    def is_relative_to(self, *other: Any) -> bool:
        base = _parts(*other)
        return self.parts[: len(base)] == base

    def resolve(self, strict: bool = False) -> ObjectPath:
        return self

    def absolute(self) -> ObjectPath:
        return self

    def expanduser(self) -> ObjectPath:
        return self

    # -- what is there ----------------------------------------------------------------------

    @property
    def client(self) -> ObjectClient:
        """The client of its bucket."""
        return client_of(self.parts[1].removesuffix(_NOT_LOCAL), self.bucket)

    @property
    def bucket(self) -> str:
        return self.parts[2]

    @property
    def key(self) -> str:
        """Its name within the bucket."""
        return "/".join(self.parts[3:])

    def stat(self, *, follow_symlinks: bool = True) -> ObjectStat:  # type: ignore[override]
        """What the store knows of it.

        Raises:
            FileNotFoundError: there is neither an object nor a folder.
        """
        if self.key:
            try:
                return _stat_of(self.client.head(self.key))
            except FileNotFoundError:
                pass
        if self.is_dir():
            return _FOLDER
        raise FileNotFoundError(2, "No such object", str(self))

    def lstat(self) -> ObjectStat:  # type: ignore[override]
        return self.stat()

    def exists(self, **_: Any) -> bool:
        return self.is_file() or self.is_dir()

    def is_file(self, **_: Any) -> bool:
        if not self.key:
            return False
        try:
            self.client.head(self.key)
        except FileNotFoundError:
            return False
        return True

    def is_dir(self, **_: Any) -> bool:
        return self.client.holds(self.key)

    def is_symlink(self) -> bool:
        return False

    def is_mount(self) -> bool:
        return False

    def iterdir(self) -> Iterator[ObjectPath]:  # type: ignore[override]
        for path, _ in self.scan():
            yield path

    def scan(self) -> Iterator[tuple[ObjectPath, ObjectStat]]:
        """What is directly in a folder, and what the listing says of it.

        Raises:
            FileNotFoundError: there is no such folder.
        """
        folders, objects = self.client.names(self.key)
        if not folders and not objects and not self.is_dir():
            raise FileNotFoundError(2, "No such folder", str(self))
        for folder in folders:
            yield self._at(folder), _FOLDER
        for one in objects:
            yield self._at(one.key), _stat_of(one)

    def scan_with_times(self) -> Iterator[tuple[ObjectPath, ObjectStat]]:
        """As `scan`, and a folder has the time of the newest object below it; a longer listing."""
        newest: dict[ObjectPath, ObjectStat] = {}
        depth = len(self.parts) + 1
        for path, stat in self.files():
            top = ObjectPath(*path.parts[:depth])
            is_file = top == path
            known = newest.get(top)
            time = max(stat.st_mtime_ns, known.st_mtime_ns if known else 0)
            newest[top] = stat if is_file else replace(_FOLDER, st_mtime_ns=time)
        yield from newest.items()

    def files(self) -> Iterator[tuple[ObjectPath, ObjectStat]]:
        """All objects below it, and what the listing says of each."""
        for one in self.client.objects(self.key):
            path = self._at(one.key)
            # An empty object may be the marker of a folder.
            if one.size or (path != self and path.is_file()):
                yield path, _stat_of(one)

    def walk(self, *_: Any, **__: Any) -> Iterator[tuple[ObjectPath, list[str], list[str]]]:
        """As `os.walk` from the top: nothing where nothing is there."""
        names: dict[ObjectPath, tuple[set[str], set[str]]] = {}
        for file, _stat in self.files():
            names.setdefault(file.parent, (set(), set()))[1].add(file.name)
            for folder in _between(file.parent, self):
                names.setdefault(folder.parent, (set(), set()))[0].add(folder.name)
        left_out: set[Path] = set()
        for folder in sorted(names):
            if left_out.intersection((folder, folder.parent)):
                left_out.add(folder)
                continue
            folders, files = names[folder]
            entered = sorted(folders)
            yield folder, entered, sorted(files)
            # As with `os.walk`, the caller may have taken folders out.
            left_out.update(folder / name for name in folders.difference(entered))

    def glob(self, pattern: str, **_: Any) -> Iterator[ObjectPath]:  # type: ignore[override]
        return self._matching(tuple(pattern.split("/")))

    def rglob(self, pattern: str, **_: Any) -> Iterator[ObjectPath]:  # type: ignore[override]
        return self._matching(("**", *pattern.split("/")))

    def _matching(self, pattern: tuple[str, ...]) -> Iterator[ObjectPath]:
        if "**" not in pattern:
            yield from self._matching_names(pattern)
            return
        files = [file for file, _ in self.files()]
        for path in dict.fromkeys(one for file in files for one in _between(file, self)):
            if _matches(path.parts[len(self.parts) :], pattern):
                yield path

    def _matching_names(self, pattern: tuple[str, ...]) -> Iterator[ObjectPath]:
        first, *rest = pattern
        if not self.is_dir():
            return
        for path in self.iterdir():
            if fnmatchcase(path.name, first):
                if rest:
                    yield from path._matching_names(tuple(rest)) if path.is_dir() else ()
                else:
                    yield path

    # -- reading and writing ----------------------------------------------------------------

    def read_bytes(self) -> bytes:
        return self.client.get(self.key)

    def read_text(
        self, encoding: str | None = None, errors: str | None = None, newline: str | None = None
    ) -> str:
        # As a text file is read: lines end in one way.
        text = self.read_bytes().decode(encoding or "utf-8", errors or "strict")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def write_bytes(self, data: Any) -> int:
        content = bytes(data)
        self.client.put(self.key, content)
        return len(content)

    def write_text(
        self,
        data: str,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> int:
        return self.write_bytes(data.encode(encoding or "utf-8", errors or "strict"))

    def create(self, content: bytes) -> bool:
        """Write an object unless one is there; see `ObjectClient.create`."""
        return self.client.create(self.key, content)

    def open(
        self,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> Any:
        """Open it; what is written is there, whole, once the file is closed without an error.

        Raises:
            FileNotFoundError: it is to be read and is not there.
            LocalFileNeeded: the mode is not one of r, rb, w and wb.
        """
        if mode.replace("t", "") == "r":
            content = io.BytesIO(self.read_bytes())
            return io.TextIOWrapper(content, encoding or "utf-8", errors, newline)
        if mode == "rb":
            return io.BufferedReader(ObjectReader(self.client, self.key), READ_AHEAD_BYTES)
        if mode == "wb":
            return ObjectWriter(self.client, self.key)
        if mode == "w":
            return io.TextIOWrapper(self.open("wb"), encoding or "utf-8", errors, newline)
        return self.__fspath__()

    def touch(self, mode: int = 0o666, exist_ok: bool = True) -> None:
        self.client.put(self.key, b"")

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Nothing: a folder is there while an object is below it."""

    def rmdir(self) -> None:
        """Nothing: a folder is gone with the last object below it."""

    def rename(self, target: Any) -> ObjectPath:
        """Copy an object and remove it: whoever looks in between sees both.

        Raises:
            FileNotFoundError: it is not there.
            LocalFileNeeded: it is a folder.
        """
        try:
            self.client.copy(self.key, target.key)
        except FileNotFoundError:
            if self.is_dir():
                self.__fspath__()
            raise
        self.client.delete([self.key])
        found: ObjectPath = target
        return found

    replace = rename

    def unlink(self, missing_ok: bool = False) -> None:
        if not missing_ok:
            self.client.head(self.key)
        self.client.delete([self.key])

    def remove_all(self) -> None:
        """Remove every object below it, and the markers of folders."""
        found = self.client.objects(self.key)
        self.client.delete([one.key for one in found])
        if any(not one.size for one in found):
            # What is listed now is a marker, or was written meanwhile and is left alone. A marker
            # without a name would be the bucket itself.
            left = self.client.objects(self.key)
            self.client.delete_markers([one.key for one in left if one.key and not one.size])

    def _at(self, key: str) -> ObjectPath:
        """Another path in the same bucket."""
        return ObjectPath(*self.parts[:3], *key.split("/"))


def arrow_source(path: Path) -> Any:
    """What Arrow reads a file from: its path, or for an object a file of Python's."""
    return path.open("rb") if isinstance(path, ObjectPath) else path


def path_of(text: str | Path) -> Path:
    """A path from its text: a URL of an object store or a path on a disk."""
    found = URL.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return Path(text) if isinstance(text, str) else text
    scheme, bucket, key = found.groups()
    names = [name for name in (key or "").split("/") if name]
    return ObjectPath(f"/{scheme}{_NOT_LOCAL}", bucket, *names)


def _recorded(value: Any, local: ValidatorFunctionWrapHandler) -> Path:
    if isinstance(value, str) and URL.fullmatch(value):
        return path_of(value)
    found: Path = local(value)
    return found


# A path in a document of ours.
RecordedPath = Annotated[Path, WrapValidator(_recorded)]


def _parts(*other: Any) -> tuple[str, ...]:
    first = path_of(other[0])
    return first.joinpath(*other[1:]).parts


def _between(path: ObjectPath, folder: ObjectPath) -> Iterator[ObjectPath]:
    """A path and the folders above it, up to but without a folder that it is below."""
    while path != folder:
        yield path
        path = path.parent


def _stat_of(found: FoundObject) -> ObjectStat:
    # A listing tells milliseconds, a look at one object whole seconds: both say the same.
    seconds = int(found.modified.timestamp())
    return ObjectStat(found.size, seconds * 1_000_000_000, S_IFREG | 0o600)


def _matches(names: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return not names
    first, rest = pattern[0], pattern[1:]
    if first == "**":
        return any(_matches(names[start:], rest) for start in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], first) and _matches(names[1:], rest)
