"""Documents that are out of use: drafts of killed writers, old leases, notices, ended queries."""

import re
from collections.abc import Iterator
from pathlib import Path

from tidemill.contract.layout import Layout
from tidemill.ledger.running_queries import RunningQuery
from tidemill.steps.upkeep.leftover import Kind, Leftover, leftover, removals
from tidemill.storage import documents
from tidemill.storage.folders import names_in, walk
from tidemill.storage.lease import newest_epoch
from tidemill.storage.relocations import unfinished_relocation

# As `storage.documents`, `storage.sync`, `contract.report` and `ledger.static_pins` name them.
_DRAFT = re.compile(r"\..+\.(?:[0-9a-f]{32}\.draft|json\.\d+)")
_COPY = re.compile(r"\.[0-9a-f]+\.draft")
_EPOCH = re.compile(r"(\d+)\.(?:json|released|beat)")
_NOTICE = re.compile(r"(\d+)-\w+\.json")


def removals_begun(layout: Layout) -> Iterator[Leftover]:
    """Folders that a killed `vacuum` was removing."""
    return _there("removal", sorted(removals(layout).glob("*")))


def old_epochs(layout: Layout, kept: int) -> Iterator[Leftover]:
    """The files of leases below the newest epochs, the oldest first.

    An epoch is handed out once: the next is the number after the newest file. In this order a
    writer finds its own epoch gone before its successor's.

    Args:
        kept: How many epochs stay.
    """
    for folder in (layout.lease, *sorted(layout.generations.glob("*.lease"))):
        newest = newest_epoch(folder)
        yield from _there("lease", _numbered(folder, _EPOCH, newest - kept))


def old_notices(layout: Layout, kept: int) -> Iterator[Leftover]:
    """The notices below the newest `kept`; the next one is compared with the newest."""
    found = _numbered(layout.notices, _NOTICE)
    return _there("notice", found[:-kept])


def ended_queries(layout: Layout, before: float) -> Iterator[Leftover]:
    """The documents of running queries whose process is gone, and requests to stop them."""
    folder = layout.streams
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        found = leftover("stream", path)
        if found is None or found.modified >= before or path.suffix not in (".json", ".stop"):
            continue
        query = documents.read_if_whole(path.with_suffix(".json"), RunningQuery)
        if query is None or query.process.gone:
            yield found


def drafts(layout: Layout, before: float) -> Iterator[Leftover]:
    """What was to become a document, or a copy of a static input, and never did."""
    # Tables and checkpoints hold Spark's and Delta's files, and no drafts of documents.
    others = {layout.table, layout.rejected, removals(layout), *_checkpoints(layout)}
    for here, folders, names in walk(layout.home):
        folders[:] = sorted(name for name in folders if here / name not in others)
        is_statics = here.parent == layout.statics
        copies = [name for name in folders if is_statics and _COPY.fullmatch(name)]
        folders[:] = [name for name in folders if name not in copies]
        found = [name for name in sorted(names) if _DRAFT.fullmatch(name)]
        for one in _there("draft", [here / name for name in (*found, *copies)]):
            if one.modified < before:
                yield one


def half_forks(layout: Layout) -> Iterator[Leftover]:
    """Forks under other names that were never finished, but for those on their way to their places.

    A fork is built under the lease of its original, so that under the lease none is being built.
    """
    found = sorted(layout.forks.glob("*"))
    return _there("draft", [one for one in found if not _is_on_its_way(layout, one)])


def _is_on_its_way(layout: Layout, fork: Path) -> bool:
    """Whether a fork is whole, and copied to its place in part, as in an object store alone."""
    begun = (unfinished_relocation(layout.root / name) for name in names_in(fork))
    return any(one is not None and one.origin.parent == fork for one in begun)


def _checkpoints(layout: Layout) -> Iterator[Path]:
    folder = layout.home / "checkpoints"
    names = folder.iterdir() if folder.is_dir() else ()
    return (path for path in names if path.is_dir() and path.suffix != ".plans")


def _numbered(folder: Path, name: re.Pattern[str], upto: int | None = None) -> list[Path]:
    """The files of a folder by the number that their names begin with."""
    found = []
    for there in names_in(folder) if folder.is_dir() else ():
        match = name.fullmatch(there)
        if match and (upto is None or int(match[1]) <= upto):
            found.append((int(match[1]), folder / there))
    return [path for _, path in sorted(found)]


def _there(kind: Kind, paths: list[Path]) -> Iterator[Leftover]:
    found = (leftover(kind, path) for path in paths)
    return (one for one in found if one is not None)
