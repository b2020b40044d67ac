"""The data files that versions of a Delta table added, and the versions that took rows away.

A version whose entry removes files with rows, as a swap's does, changes what was there before: its
files are never taken for new rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tidemill.contract.errors import Refused
from tidemill.contract.objects.object_path import arrow_source
from tidemill.file_formats.delta_log import DIGITS, LOG, actions_of, has_table
from tidemill.file_formats.delta_table import open_table

CHECKPOINT = re.compile(rf"\d{{{DIGITS}}}\.checkpoint\.parquet")


class HistoryExpired(Refused):
    """A table's log no longer has an entry that is to be read; carries `path` and `version`."""


class LeftOutRowsRewritten(Refused):
    """A compaction put rows that are left out into files of others; carries `path`, `version`."""


@dataclass(frozen=True)
class AddedFile:
    """A data file of a table.

    Args:
        size: Bytes.
        modified: When it was written, as the table's log says.
        partition: Partition column -> value as text, None for null.
    """

    path: str
    size: int
    modified: datetime
    partition: Mapping[str, str | None]


@dataclass(frozen=True)
class Version:
    """What one version of a table changed.

    Args:
        added: The files with new rows; none where rows were taken away too.
        swapped: The partitions of the files that were taken away or put in their place.
        touched: The paths of these files; one that was taken away may be gone.
    """

    number: int
    added: tuple[AddedFile, ...]
    swapped: tuple[Mapping[str, str | None], ...]
    touched: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableHead:
    """A table as it is now.

    Args:
        id: What it keeps for as long as it exists.
        version: The newest.
    """

    id: str
    version: int


def table_head(table: Path) -> TableHead | None:
    """The newest version of a table; None where there is no table yet."""

    if not has_table(table):
        return None
    found = open_table(table)
    return TableHead(str(found.metadata().id), found.version())


def changes(table: Path, first: int, until: int) -> Iterator[Version]:
    """The versions from one to before another, in order.

    Raises:
        HistoryExpired: the entry of one is gone.
    """
    for number in range(first, until):
        actions = _file_actions(table, number)
        yield _version(table, number, [one for one in actions if _changes_rows(one)])


def files_at(table: Path, version: int) -> tuple[AddedFile, ...]:
    """The files of a version of a table, in the order in which they were added.

    Where the log has lost its first entries, those of its newest checkpoint come first, in the
    order of their times.

    Raises:
        HistoryExpired: an entry of the log up to it is gone, and no checkpoint stands for it.
    """
    found: dict[str, AddedFile] = {}
    first = 0
    if not _entry(table, 0).exists() and (covered := _checkpoints(table, version)):
        first = covered[-1] + 1
        found = {file.path: file for file in _files_of_checkpoint(table, covered[-1])}
    for number in range(first, version + 1):
        for action in _file_actions(table, number):
            if "remove" in action:
                found.pop(_path(table, action["remove"]), None)
            else:
                file = _file(table, action["add"])
                found[file.path] = file
    return tuple(found.values())


def last_removal(table: Path, head: TableHead) -> int:
    """The newest version that took files away, also if only to rewrite them; -1 without one.

    Where the log has lost the entries before a checkpoint, that is the version of the checkpoint.

    Raises:
        HistoryExpired: an entry of the log after it is gone.
    """
    for number in range(head.version, -1, -1):
        if not _entry(table, number).exists():
            after = [one for one in _checkpoints(table, head.version) if one >= number]
            if after:
                return after[0]
        if any("remove" in action for action in _file_actions(table, number)):
            return number
    return -1


def files_between(table: Path, first: int, until: int) -> tuple[AddedFile, ...]:
    """The files with the rows of versions from one to before another.

    From the beginning on, these are the files of the table as it then was, whatever was swapped.

    Raises:
        HistoryExpired: an entry of the log is gone.
    """
    if first == 0:
        return files_at(table, until - 1) if until else ()
    return tuple(file for version in changes(table, first, until) for file in version.added)


def last_before_new_rows(table: Path, head: TableHead, until: int) -> int:
    """The version before the next one that adds rows; swaps of what was there before go by.

    Args:
        until: The version to begin with.
    """
    for version in changes(table, until, head.version + 1):
        if version.added:
            return version.number - 1
    return head.version


def files_standing(
    table: Path, head: TableHead, ranges: Sequence[tuple[int, int]]
) -> tuple[AddedFile, ...]:
    """The files of ranges of versions, those from the beginning as swaps have left them.

    Args:
        ranges: Each from one version to before another, in order; files that versions between them
            added are left out.

    Raises:
        HistoryExpired: an entry of the log is gone.
        LeftOutRowsRewritten: the files that are left out are gone, and their rows in others.
    """
    if not ranges or ranges[0][0] > 0:
        return tuple(file for one in ranges for file in files_between(table, *one))
    gaps = [(before[1], after[0]) for before, after in pairwise(ranges)]
    left_out = {file.path for gap in gaps for file in files_between(table, *gap)}
    last = last_before_new_rows(table, head, ranges[-1][1])
    if left_out:
        _refuse_rewritten(table, left_out, last)
    return tuple(file for file in files_at(table, last) if file.path not in left_out)


def _refuse_rewritten(table: Path, left_out: set[str], last: int) -> None:
    """Refuse where a version up to the last one rewrote a file, and changed no rows."""
    for number in range(last + 1):
        actions = _file_actions(table, number)
        gone = (one["remove"] for one in actions if "remove" in one and not _changes_rows(one))
        if any(_path(table, one) in left_out for one in gone):
            raise LeftOutRowsRewritten(
                f"Version {number} of {table} compacted files with rows that are left out here: "
                "they stand among other rows, and would be read with them.",
                remedy="Take back what left them out (reinstate), or have the table that is read "
                "computed again (rebuild); and compact no table that pipelines read.",
                path=table,
                version=number,
            )


def _version(table: Path, number: int, actions: list[dict[str, Any]]) -> Version:
    added = tuple(_file(table, one["add"]) for one in actions if "add" in one)
    if not any("remove" in one for one in actions):
        return Version(number, added, ())
    both = [one.get("add") or one["remove"] for one in actions]
    partitions = {json.dumps(p, sort_keys=True): p for p in (_partition(one) for one in both)}
    touched = tuple(_path(table, one) for one in both)
    return Version(number, (), tuple(partitions.values()), touched)


def _file_actions(table: Path, number: int) -> list[dict[str, Any]]:
    """The actions of a version that add files or take some away."""
    actions = actions_of(_entry(table, number))
    if actions is None:
        raise HistoryExpired(
            f"{_entry(table, number)} is gone, so that nothing says which rows version {number} "
            "of the table added.",
            remedy="Restore it from a backup, and keep the log of a table that pipelines read.",
            path=table,
            version=number,
        )
    return [action for action in actions if "add" in action or "remove" in action]


def _changes_rows(action: Mapping[str, Any]) -> bool:
    """Whether an action adds rows or takes some away; a compaction only rewrites files."""
    return bool((action.get("add") or action["remove"]).get("dataChange", True))


def _checkpoints(table: Path, version: int) -> list[int]:
    """The versions up to one that a checkpoint of the log, in one file, stands for."""
    names = (path.name for path in (table / LOG).iterdir())
    numbers = (int(name[:DIGITS]) for name in names if CHECKPOINT.fullmatch(name))
    return sorted(number for number in numbers if number <= version)


def _files_of_checkpoint(table: Path, number: int) -> list[AddedFile]:
    import pyarrow.parquet as pq

    path = table / LOG / f"{number:0{DIGITS}d}.checkpoint.parquet"
    adds = pq.read_table(arrow_source(path), columns=["add"])["add"].to_pylist(
        maps_as_pydicts="strict"
    )
    found = [_file(table, add) for add in adds if add is not None]
    return sorted(found, key=lambda file: (file.modified, file.path))


def _entry(table: Path, number: int) -> Path:
    return table / LOG / f"{number:0{DIGITS}d}.json"


def _file(table: Path, add: Mapping[str, Any]) -> AddedFile:
    modified = datetime.fromtimestamp(int(add["modificationTime"]) / 1000, UTC)
    return AddedFile(_path(table, add), int(add["size"]), modified, _partition(add))


def _path(table: Path, action: Mapping[str, Any]) -> str:
    return str(table / unquote(action["path"]))


def _partition(action: Mapping[str, Any]) -> dict[str, str | None]:
    return {name: value or None for name, value in (action.get("partitionValues") or {}).items()}
