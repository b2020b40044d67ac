"""What commands of upkeep find: files and folders, each as it was when it was found."""

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from tidemill.contract.document import FrozenModel
from tidemill.contract.layout import Layout
from tidemill.storage.folders import Stat, discard_folder, remove_folder, walk

Kind = Literal[
    "removal",
    "orphan",
    "scratch",
    "checkpoint",
    "snapshot",
    "replaced",
    "run",
    "lease",
    "notice",
    "stream",
    "draft",
    "small",
    "entry",
]


@dataclass(frozen=True)
class Leftover:
    """A file, or a folder with all that is in it; for small files of a table their partition.

    Args:
        modified: Seconds since 1970: the newest of its files, or itself where it holds none.
    """

    kind: Kind
    path: Path
    files: int
    size: int
    modified: float


class LeftoversOfKind(FrozenModel):
    """The leftovers of one kind.

    Attributes:
        count: Files, or folders where a whole folder is one leftover.
        oldest: When the oldest of them was last modified.
    """

    kind: Kind
    count: int
    files: int
    bytes: int
    oldest: datetime


def leftover(kind: Kind, path: Path) -> Leftover | None:
    """A file or folder as it is now; None where it is gone."""
    try:
        own = path.lstat()
    except FileNotFoundError:
        return None
    if not path.is_dir() or path.is_symlink():
        return Leftover(kind, path, 1, own.st_size, own.st_mtime)
    found = list(_files(path))
    newest = max((one.st_mtime for one in found), default=own.st_mtime)
    return Leftover(kind, path, len(found), sum(one.st_size for one in found), newest)


def remove(layout: Layout, one: Leftover) -> bool:
    """Remove a leftover, unless it was changed since it was found.

    A folder on a disk is renamed first, so that no half of it is ever found under its name. What a
    killed removal left is a leftover of the next.

    Returns:
        Whether it was removed.
    """
    if leftover(one.kind, one.path) != one:
        return False
    if not one.path.is_dir():
        one.path.unlink(missing_ok=True)
        return True
    if one.kind == "removal":
        remove_folder(one.path)
    else:
        discard_folder(one.path, removals(layout) / uuid.uuid4().hex)
    return True


def removals(layout: Layout) -> Path:
    """The folder of what is being removed."""
    return layout.home / ".removed"


def by_kind(found: Iterable[Leftover]) -> tuple[LeftoversOfKind, ...]:
    """Leftovers, summed up by their kinds."""
    kinds: dict[Kind, list[Leftover]] = {}
    for one in found:
        kinds.setdefault(one.kind, []).append(one)
    return tuple(
        LeftoversOfKind(
            kind=kind,
            count=len(of),
            files=sum(one.files for one in of),
            bytes=sum(one.size for one in of),
            oldest=datetime.fromtimestamp(min(one.modified for one in of), UTC),
        )
        for kind, of in kinds.items()
    )


def _files(folder: Path) -> Iterator[Stat]:
    for place, _, names in walk(folder):
        for name in names:
            try:
                yield (place / name).lstat()
            except FileNotFoundError:
                continue
