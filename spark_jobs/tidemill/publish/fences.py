"""All fences of a pipeline, which refuse writers of older epochs."""

from collections.abc import Iterable
from pathlib import Path

from tidemill.contract.layout import Layout
from tidemill.file_formats.delta_log import has_table
from tidemill.file_formats.delta_table import open_table
from tidemill.increments.increments import Increment, Increments
from tidemill.increments.recent_snapshot import RecentIncrements
from tidemill.journal.published_files import PublishedFiles
from tidemill.journal.recent_journal import read_journal
from tidemill.journal.settled import read_settled
from tidemill.publish.delta.commit import LEASE_TRANSACTION
from tidemill.publish.delta.log_head import read_head
from tidemill.publish.fence import Fence
from tidemill.publish.head import KeepsHead
from tidemill.publish.registry import targets_of
from tidemill.spec.pipeline import Pipeline
from tidemill.storage import documents
from tidemill.storage.target_names import name_in_targets


def fences_on_disk(layout: Layout) -> list[Fence]:
    """The fences of a pipeline that cost neither a connection nor a look at its whole past."""
    settled = read_settled(layout, ())
    store = Increments(layout.increments)
    if settled is not None:
        store = RecentIncrements(layout.increments, settled.increment)
    newest = [_read(store, store.next_number() - 1)] if store.next_number() > 1 else []
    found = [
        _of_table(layout.table),
        _of_table(layout.rejected),
        _of_lists(layout),
        _of_journal(layout),
        _of_increments(layout, newest),
    ]
    return [fence for fence in found if fence is not None and fence.epoch]


def all_fences(pipeline: Pipeline) -> list[Fence]:
    """The fences of a pipeline, those outside the root and of all increments too.

    Raises:
        TargetUnreachable: a target does not answer.
    """
    layout = pipeline.layout
    store = Increments(layout.increments)
    every = _of_increments(layout, [_read(store, number) for number in store.numbers()])
    found = {fence.where: fence for fence in fences_on_disk(layout)}
    found |= {} if every is None or not every.epoch else {every.where: every}
    for target in targets_of(pipeline, 0, lambda _: None):
        if isinstance(target, KeepsHead):
            head = target.read_head()
            if head is not None and head.pipeline == name_in_targets(layout):
                found[target.name] = Fence(where=target.name, epoch=head.epoch)
    return list(found.values())


def _of_table(path: Path) -> Fence | None:
    newest = read_head(path).committed
    if newest is not None:
        epoch = newest.epoch
    elif has_table(path):
        # Our entries have expired since.
        epoch = open_table(path).transaction_version(LEASE_TRANSACTION)
    else:
        return None
    return None if epoch is None else Fence(where=str(path), epoch=epoch)


def _of_lists(layout: Layout) -> Fence | None:
    last = documents.newest(layout.published)
    listed = last and documents.read(layout.published / f"{last:06d}.json", PublishedFiles)
    return Fence(where=str(layout.published), epoch=listed.epoch) if listed else None


def _of_journal(layout: Layout) -> Fence | None:
    journal = read_journal(layout, ())
    last = journal.newest()
    event = journal.event(last) if last else None
    return Fence(where=str(layout.journal), epoch=event.epoch) if event else None


def _read(store: Increments, number: int) -> Increment:
    # Epochs are wanted, whatever the journal, which may be set back too, says of the increment.
    return store.read(store.sealed(number), superseded=False)


def _of_increments(layout: Layout, increments: Iterable[Increment]) -> Fence | None:
    """What some increments were sealed and judged under: of two verdicts the newer epoch counts."""
    epochs = [max(one.sealed.epoch, *(v.epoch for v in one.verdicts), 0) for one in increments]
    return Fence(where=str(layout.increments), epoch=max(epochs)) if epochs else None
