"""Walks the folder of a file source; a folder that cannot be listed is an error, never empty.

An error that is swallowed here would be said as "nothing new since the last run", for ever.
"""

import errno
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from glob import has_magic
from pathlib import Path

from tidemill.contract.errors import Refused

# One folder may be linked to from several others; this many paths to it are not a tree.
MOST_PATHS = 100
HALF_COPIED = "._COPYING_"
# Written beside data by Hadoop, Spark, Databricks, NFS and macOS.
MARKERS = (
    *("_SUCCESS", "_metadata", "_common_metadata", "_started_", "_committed_"),
    *(".nfs", ".DS_Store", "._"),
)


class InputUnreadable(Refused):
    """A file or folder of a source is there and cannot be read; carries `path` and `field`."""


class InputCircular(Refused):
    """Links lead back to a folder that they are in, so Spark's list has no end; carries `path`."""


@contextmanager
def readable(field: str) -> Iterator[None]:
    """Name what cannot be read, and the spec's field that asks for it.

    Args:
        field: Such as `sources.orders.path`.

    Raises:
        InputUnreadable: in the place of any `OSError`.
        InputCircular: where the system itself gave up following links.
    """
    try:
        yield
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _circular(Path(error.filename), field) from error
        raise InputUnreadable(
            f"{field}: {error.filename} cannot be read ({error.strerror}), so it is unknown what "
            "arrived there.",
            remedy=f"Mount its disk, or let user {os.geteuid()} read it (chmod, chgrp); or move it "
            "out of the source's directory.",
            path=str(error.filename),
            field=field,
        ) from error


def files_below(place: Path, field: str) -> Iterator[Path]:
    """Every file that a recursive listing of Spark's meets, and the hidden ones beside them.

    Args:
        place: A folder, or one file.
        field: The spec's field, for errors.

    Raises:
        OSError: a folder cannot be listed.
        InputCircular: a folder is, by way of links, within itself, or is reached by too many
            paths; Spark would list it again and again.
    """
    if place.is_file():
        yield place
        return
    reached: Counter[tuple[int, int]] = Counter()
    waiting: list[tuple[Path, frozenset[tuple[int, int]]]] = [(place, frozenset())]
    while waiting:
        folder, above = waiting.pop()
        try:
            status = folder.stat()
            entries = list(os.scandir(folder))
        except (FileNotFoundError, NotADirectoryError):
            # Taken away since its name was read.
            continue
        identity = status.st_dev, status.st_ino
        reached[identity] += 1
        if identity in above or reached[identity] > MOST_PATHS:
            raise _circular(folder, field)
        for entry in entries:
            if entry.is_dir():
                if not is_hidden(entry.name):
                    waiting.append((folder / entry.name, above | {identity}))
            else:
                yield folder / entry.name


def paths_matching(pattern: str) -> Iterator[Path]:
    """The paths that an absolute glob matches, hidden names too, as Hadoop's `*` does.

    `glob` takes a folder that it may not list for an empty one.

    Raises:
        OSError: a folder cannot be listed.
    """
    root, *names = Path(pattern).parts
    found = [Path(root)]
    for name in names:
        if has_magic(name):
            inside = [path for folder in found for path in _inside(folder)]
            found = [path for path in inside if fnmatchcase(path.name, name)]
        else:
            found = [path / name for path in found]
    yield from (path for path in found if os.path.lexists(path))


def _inside(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def is_hidden(name: str) -> bool:
    """Whether Spark passes over a file or folder for its name."""
    underscore = name.startswith("_") and "=" not in name
    return name.startswith(".") or underscore or name.endswith(HALF_COPIED)


def may_be_data(name: str) -> bool:
    """Whether a hidden file may be one that somebody delivered.

    What Hadoop, Spark, Tidemill and half-finished copies leave beside data is not.
    """
    return not name.startswith(MARKERS) and not name.endswith((HALF_COPIED, ".crc", ".tidemill"))


def _circular(path: Path, field: str) -> InputCircular:
    return InputCircular(
        f"{field}: {path} leads by links to a folder that it is in, or that {MOST_PATHS} other "
        "paths lead to, so a list of its files has no end.",
        remedy=f"Remove the link (find '{path.parent}' -type l shows those there).",
        path=path,
        field=field,
    )
