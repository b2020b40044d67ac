"""The versions of a query's state in its checkpoint: which are there, and which can be loaded.

A version is the number of batches behind it: what batch n left is version n + 1.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path

# `7.changelog`, `7.zip`, `7_<uuid>.changelog` and their checksums; `.delta` of the other provider.
VERSION = re.compile(r"\.?([0-9]+)(_[^.]+)?\.(changelog|zip|delta|snapshot)(\.crc)?")
CHANGES = (".changelog", ".delta")


def state_missing(
    checkpoint: Path, version: int, damaged: Iterable[Path] = (), stores: Iterable[Path] = ()
) -> list[Path]:
    """The stores of a checkpoint's state that cannot be loaded at a version.

    Args:
        damaged: Files that do not count, whether they are there or not.
        stores: Further stores, of which nothing may be left.
    """
    state, without, further = checkpoint / "state", frozenset(damaged), [*stores]
    missing = []
    for operator in sorted(state.iterdir()) if state.is_dir() else ():
        found = versions(operator, without)
        named = {file.parent for file in without if VERSION.fullmatch(file.name)}
        expected = _stores(operator) | {
            one for one in (*named, *further) if one.is_relative_to(operator)
        }
        missing += [one for one in sorted(expected) if not loads(found.get(one, ()), version)]
    return missing


def newest_whole(checkpoint: Path, before: int, damaged: Iterable[Path]) -> int | None:
    """The newest version that every store can be loaded at; None where the files do not tell.

    Args:
        before: A version that cannot be loaded.
        damaged: The files because of which it cannot.
    """
    files = [*damaged]
    if not all(VERSION.fullmatch(file.name) for file in files):
        return None
    if not state_missing(checkpoint, before, files):
        return None
    earlier = range(before - 1, -1, -1)
    return next((v for v in earlier if not state_missing(checkpoint, v, files)), None)


def _stores(operator: Path) -> set[Path]:
    """The stores of all partitions: each has those that any has, also where nothing is left."""
    partitions = [path for path in operator.iterdir() if path.name.isdecimal()]
    names = {
        store.relative_to(partition)
        for store in versions(operator)
        for partition in partitions
        if store.is_relative_to(partition)
    }
    return {partition / name for partition in partitions for name in names}


def versions(operator: Path, without: Container[Path] = ()) -> Mapping[Path, list[tuple[int, str]]]:
    """Store -> the versions that are there, each with the suffix of its file.

    Args:
        operator: The folder of an operator's state.
        without: Files that do not count.
    """
    stores: dict[Path, list[tuple[int, str]]] = {}
    for path in walk_files(operator):
        found = VERSION.fullmatch(path.name)
        if found is not None and not path.name.endswith(".crc") and path not in without:
            stores.setdefault(path.parent, []).append((int(found[1]), path.suffix))
    return stores


def loads(found: Iterable[tuple[int, str]], version: int) -> bool:
    """Whether a version can be loaded: from a snapshot, with every change since."""
    there = [*found]
    snapshots = [v for v, suffix in there if suffix not in CHANGES and v <= version]
    changes = {v for v, suffix in there if suffix in CHANGES}
    return changes.issuperset(range(max(snapshots, default=0) + 1, version + 1))


def walk_files(folder: Path) -> Iterator[Path]:
    """All files below a folder, in order."""
    return (path for path in sorted(folder.rglob("*")) if path.is_file())
