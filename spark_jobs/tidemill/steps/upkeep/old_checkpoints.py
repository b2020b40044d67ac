"""Checkpoints that no query goes on with, and snapshots of checkpoints, past their retention."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from tidemill.contract.layout import Layout
from tidemill.generations.checkpoint_snapshot import read_snapshots
from tidemill.increments.snapshot import Snapshot
from tidemill.steps.upkeep.leftover import Leftover, leftover


def ended_checkpoints(snapshot: Snapshot, before: float) -> Iterator[Leftover]:
    """The checkpoints of generations that another has taken over from long ago.

    Their notes, ledgers and sinks stay. So does the checkpoint of one with an increment that is
    neither published nor given up.

    Args:
        before: One that ended later stays; in seconds since 1970.
    """
    needed = {one.sealed.covers.generation for one in snapshot.rows_to_come}
    needed.add(snapshot.generation)
    ended = {one.predecessor: one.born.timestamp() for one in snapshot.takeovers}
    for name, at in ended.items():
        if name not in needed and at < before:
            found = leftover("checkpoint", snapshot.layout.checkpoint(name))
            if found is not None:
                yield found


def old_snapshots(layout: Layout, before: float) -> Iterator[Leftover]:
    """The snapshots that were taken long ago, and folders of those that do not count.

    The newest stays: the pipeline goes on from it, and the next takes the number after it. A
    document comes before its folder, which does not count without it.

    Args:
        before: Younger ones stay; in seconds since 1970.
    """
    taken = read_snapshots(layout)
    counting = {layout.snapshot(one.number) for one in taken}
    for one in taken[:-1]:
        if one.taken.timestamp() < before:
            folder = layout.snapshot(one.number)
            yield from _there([folder.with_suffix(".json"), folder])
    folders = sorted(path for path in layout.snapshots.glob("[0-9]*") if path.is_dir())
    yield from _there(path for path in folders if path not in counting)


def _there(paths: Iterable[Path]) -> Iterator[Leftover]:
    found = (leftover("snapshot", path) for path in paths)
    return (one for one in found if one is not None)
