"""The objects of a pipeline, copied to another place in an object store.

Each is written there as it is to stay: what names its own place is put with the new paths, all else
is copied. So a write of a killed process that arrives late changes nothing, and what is begun again
needs no place of its own.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.generations.relocation import rewrites
from tidemill.storage import documents
from tidemill.storage.folders import copy_file, walk
from tidemill.storage.lease import Lease, newest_epoch, release
from tidemill.storage.relocations import (
    Relocation,
    newest_relocation,
    relocation_file,
    unfinished_relocation,
)
from tidemill.storage.sync import put_whole

# What only informs of the queries that run.
NOT_COPIED = ("streams",)
# A look at a lease takes as long as a copy.
COPIES_PER_CHECK = 16


def place_objects(
    layout: Layout, to: Layout, begun: Relocation, leases: Sequence[Lease]
) -> tuple[Path, ...]:
    """Copy all of a pipeline; whoever writes at the new place is refused from the first object on.

    Args:
        layout: The pipeline, under its leases.
        to: Its new place, which is empty or holds what an earlier try copied.
        begun: The relocation that is to be unfinished there.
        leases: By which the pipeline is ours.

    Returns:
        The files that were written with other paths.

    Raises:
        LeaseLost: it is not ours any more; whoever has it copies all of it again.
    """
    left = [*copied_files(to.home)]
    # Still ours: what was listed is of tries that did not finish.
    _check(leases)
    if unfinished_relocation(to.home) is None:
        number = newest_relocation(layout.home)
        number += unfinished_relocation(layout.home) is None
        documents.put(relocation_file(to.home, number), begun)
    written = []
    for one in rewrites(layout, begun.root if begun.copied else None, to):
        _check(leases)
        put_whole(one.file, one.text)
        written.append(one.file)
    there = {*written, relocation_file(to.home, newest_relocation(to.home))}
    for number, file in enumerate(sorted(copied_files(layout.home), key=_shows_rows)):
        copy = to.home / file.relative_to(layout.home)
        if copy not in there:
            if number % COPIES_PER_CHECK == 0:
                _check(leases)
            _copy(file, copy)
            there.add(copy)
    for file in left:
        if file not in there:
            # The original has not had it any more.
            file.unlink(missing_ok=True)
    for folder in (layout.lease, *layout.generations.glob("*.lease")):
        # Its holder writes to the original.
        if epoch := newest_epoch(folder):
            release(to.home / folder.relative_to(layout.home), epoch)
    _check(leases)
    return tuple(written)


def copied_files(home: Path) -> Iterator[Path]:
    """What makes up a pipeline, without the documents of the queries that run."""
    for place, folders, names in walk(home, follow_links=True):
        if place == home:
            folders[:] = [name for name in folders if name not in NOT_COPIED]
        yield from (place / name for name in names)


def sizes_of(home: ObjectPath) -> Iterator[int]:
    """The sizes of what is to be copied, in bytes."""
    for file, stat in home.files():
        if file.relative_to(home).parts[0] not in NOT_COPIED:
            yield stat.st_size


def _shows_rows(file: Path) -> bool:
    """Whether readers find rows by it, which is copied when these are there."""
    return "_delta_log" in file.parts or file.parent.name == "published"


def _copy(file: Path, copy: Path) -> None:
    try:
        copy_file(file, copy)
    except FileNotFoundError:
        # A heartbeat, or what others remove beside the lease.
        if file.exists():
            raise


def _check(leases: Sequence[Lease]) -> None:
    for lease in leases:
        lease.check()
