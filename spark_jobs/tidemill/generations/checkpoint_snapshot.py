"""Snapshots of a checkpoint: what Spark would forget or a disk may lose, kept to fork from.

A snapshot holds the checkpoint and the sink's log as they were after a batch, by hard links: Spark
writes these files once, and replaces or removes them by name. The rows and the books are not in it,
as they are only added to. `snapshots/000001.json` comes last; without it the folder does not count.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from tidemill.contract.document import Document
from tidemill.contract.layout import Layout
from tidemill.generations.generation import Generation
from tidemill.journal.takeovers import current, owner
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.sink_reader import Nothing
from tidemill.spark_logs.checkpoint import read_checkpoint
from tidemill.spark_logs.checkpoint_fork import link
from tidemill.spark_logs.sink_log import METADATA_DIRECTORY
from tidemill.storage import documents
from tidemill.storage.folders import remove_folder
from tidemill.storage.run_context import LeasedRun
from tidemill.storage.sync import sync


class CheckpointSnapshot(Document):
    """A snapshot of a generation's checkpoint and sink log.

    Attributes:
        batch: The last batch of the ledger when it was taken.
        run_id: The run that made that batch.
        files: How many files are in it.
        by: Who took it.
        epoch: Epoch of the writer's lease.
    """

    number: int
    generation: str
    batch: int
    run_id: str
    files: int
    bytes: int
    by: str
    taken: datetime
    epoch: int


def read_snapshots(layout: Layout) -> list[CheckpointSnapshot]:
    """All snapshots, by number."""
    found = (documents.read(p, CheckpointSnapshot) for _, p in documents.numbered(layout.snapshots))
    return [one for one in found if one is not None]


def snapshot_files(layout: Layout, generation: str) -> list[Path]:
    """The files that a snapshot of a generation would hold."""
    folders = (layout.checkpoint(generation), layout.sink(generation) / METADATA_DIRECTORY)
    return [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]


def take_snapshot(run: LeasedRun, generation: Generation, by: str) -> CheckpointSnapshot:
    """Keep a generation's checkpoint and sink log as they are.

    Args:
        generation: The live one, whose parts agree and whose batches the ledger has.
        by: Who asked for it.
    """
    layout = run.layout
    number = (documents.newest(layout.snapshots) or 0) + 1
    folder = layout.snapshot(number)
    # A killed process left it.
    remove_folder(folder, missing_ok=True)
    kept = []
    for path in snapshot_files(layout, generation.name):
        place = folder / _name(layout, generation.name, path)
        link(path, place)
        kept.append(place)
    sync(kept, layout.root)
    (last,) = generation.ledger.batches(generation.ledger.latest(), generation.ledger.latest())
    taken = CheckpointSnapshot(
        number=number,
        generation=generation.name,
        batch=last.batch,
        run_id=last.run_id,
        files=len(kept),
        bytes=sum(path.stat().st_size for path in kept),
        by=by,
        taken=run.clock(),
        epoch=run.epoch,
    )
    run.lease.check()
    documents.put(layout.snapshots / f"{number:06d}.json", taken)
    return taken


def as_generation(layout: Layout, snapshot: CheckpointSnapshot) -> Generation:
    """The live generation with the checkpoint and the log that a snapshot has.

    Raises:
        Refused: the snapshot is damaged.
    """
    folder, name = layout.snapshot(snapshot.number), current(layout)
    note, checkpoint = read_note(layout, name), read_checkpoint(folder / "checkpoint")
    # A fork looks at the names of the log alone.
    return Generation(name, note, checkpoint, Nothing(folder), Ledger(layout, name))


def snapshots_of(layout: Layout, batch: int) -> list[CheckpointSnapshot]:
    """The snapshots, the newest first, that were taken after a batch of the live generation.

    Args:
        batch: The batch; -1 for the beginning, after which each was taken.
    """
    found = reversed(read_snapshots(layout))
    if batch < 0:
        return [*found]
    ours = owner(layout, current(layout), batch)
    return [
        one for one in found if batch <= one.batch and owner(layout, one.generation, batch) == ours
    ]


def places_to_fork_from(live: Generation, batch: int) -> Iterator[Generation]:
    """The live generation, with each checkpoint and log that may hold what a batch left.

    First those of the generation that ran it: those of a later one name no files that were read
    before its rollover. Then those of today, then those of snapshots.
    """
    layout = live.ledger.layout
    name = owner(layout, live.name, max(batch, 0))
    checkpoint = read_checkpoint(layout.checkpoint(name))
    # A fork looks at the names of the log alone.
    yield replace(live, checkpoint=checkpoint, log=Nothing(layout.sink(name)))
    yield live
    yield from (as_generation(layout, one) for one in snapshots_of(layout, batch))


def _name(layout: Layout, generation: str, path: Path) -> Path:
    checkpoint = layout.checkpoint(generation)
    if path.is_relative_to(checkpoint):
        return Path("checkpoint") / path.relative_to(checkpoint)
    return path.relative_to(layout.sink(generation))
