"""Whether every target is where the journal says it is.

The journal says what a target has applied; a power cut, a restored backup or a deleted log sets the
target itself back, and a restored journal leaves it ahead. Each kind of target tells by itself how
far it is: a Delta table by the newest entry of its log, the files target by its lists, a database
by its head row, an Iceberg table by its snapshots. Kafka and targets of one's own tell nothing.
"""

from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.journal.journal import Event, Journal
from tidemill.journal.published_files import PublishedFiles
from tidemill.journal.recent_journal import read_journal
from tidemill.publish.delta import commit
from tidemill.publish.delta.log_head import LogHead, read_head
from tidemill.publish.delta.position import DeltaPosition
from tidemill.publish.head import KeepsHead
from tidemill.spec import targets as given
from tidemill.spec.base_target import BaseTarget
from tidemill.spec.pipeline import Pipeline
from tidemill.storage import documents
from tidemill.storage.target_names import name_in_targets

# The name under which the rejected table is proved and repaired; it goes with the head target.
REJECTED = "rejected"


class TargetBehindJournal(Refused):
    """A target lost events that it had applied; carries `target`, `head` and `recorded`."""


class TargetAheadOfJournal(Refused):
    """A target holds events that the journal does not have; carries `target`, `head`, `newest`."""


@dataclass(frozen=True)
class TargetHead:
    """The head of a target.

    Args:
        seq: The last event of the journal that it shows, 0 for none.
        files_hash: Hash of that event's files; None where the target does not say.
        log: End of a Delta table's log.
    """

    seq: int
    files_hash: str | None = None
    log: LogHead | None = None


def verify_tables(pipeline: Pipeline) -> None:
    """Prove the targets that are under the root: the newest entry of each log, names of lists.

    Raises:
        TargetBehindJournal: one lost what it had.
        TargetAheadOfJournal: one has what the journal does not know.
    """
    names = [target.name for target in pipeline.spec.publish]
    for name in ([REJECTED] if names else []) + names:
        target = _given(pipeline, name)
        if target is None or not target.remote_head:
            verify_target(pipeline, name)


def verify_target(pipeline: Pipeline, name: str) -> None:
    """Prove one target, or the rejected table.

    Args:
        name: The target's, or `rejected`.

    Raises:
        TargetBehindJournal: it lost what it had.
        TargetAheadOfJournal: it has what the journal does not know.
        TransientError: a target does not answer.
    """
    layout, counted_by = pipeline.layout, _counted_by(pipeline, name)
    journal = read_journal(layout, [counted_by])
    # Read first: while we look, another run may publish more.
    recorded = journal.last_applied(counted_by)
    head = head_of(pipeline, name)
    if head is None:
        return
    if head.seq < recorded:
        raise TargetBehindJournal(
            f"{name} shows event {head.seq} of the journal, and had applied event {recorded}: "
            f"{_why(head)}.",
            remedy=f"tidemill target repair {layout.name} {name} says what is missing, and has it "
            "applied again.",
            target=name,
            head=head.seq,
            recorded=recorded,
        )
    newest = journal.newest()
    if head.seq > newest or not _is_of(head, journal.event(head.seq)):
        raise TargetAheadOfJournal(
            f"{name} shows event {head.seq}, of which the journal, whose last is {newest}, knows "
            "nothing: the journal was set back, or is another root's.",
            remedy=f"Restore {layout.home} from the newest backup. If there is none, move away "
            f"{_rows_of(pipeline, name)}, and fill it again: tidemill target repair {layout.name} "
            f"{name}",
            target=name,
            head=head.seq,
            newest=newest,
        )


def head_of(pipeline: Pipeline, name: str) -> TargetHead | None:
    """The head of a target; None if it has none."""
    layout = pipeline.layout
    if name == REJECTED:
        return _table_head(layout, layout.rejected, _counted_by(pipeline, name))
    match _given(pipeline, name):
        case given.DeltaTarget():
            return _table_head(layout, layout.table, name)
        case given.FilesTarget():
            return _lists_head(layout, name)
        case BaseTarget(remote_head=True) as target:
            return _remote_head(pipeline, target)
    return None


def _table_head(layout: Layout, table: Path, counted_by: str) -> TargetHead:
    log = read_head(table)
    if log.shown is not None:
        return TargetHead(log.shown.seq, log.shown.files_hash, log)
    if log.empty:
        return TargetHead(0, log=log)
    # Our entries have expired since: then the table itself says which batches it holds.
    journal = Journal(layout.journal)
    loaded = commit.load(table)
    upto = journal.last_applied(counted_by)
    has = (
        event.seq
        for event in reversed(journal.events())
        if DeltaPosition(layout, event).has(loaded)
    )
    return TargetHead(next((seq for seq in has if seq <= upto), 0), log=log)


def _lists_head(layout: Layout, name: str) -> TargetHead:
    there = {number for number, _ in documents.numbered(layout.published)}
    journal = Journal(layout.journal)
    listless = (journal.applied(n, name) for n in {*journal.applied_by(name)} - there)
    # The version is that of a later list where the event was passed over.
    missing = sorted(one.seq for one in listless if one and one.version == one.seq)
    seq = missing[0] - 1 if missing else max(there, default=0)
    newest = documents.read(layout.published / f"{seq:06d}.json", PublishedFiles)
    return TargetHead(seq, newest.files_hash if newest else None)


def _remote_head(pipeline: Pipeline, target: given.Target) -> TargetHead | None:
    from tidemill.publish.registry import open_target

    opened = open_target(target, pipeline, epoch=0, log=lambda _: None)
    if not isinstance(opened, KeepsHead):
        return None
    head = opened.read_head()
    if head is None:
        return TargetHead(0)
    # That it is another pipeline's table is for publish to say.
    ours = head.pipeline == name_in_targets(pipeline.layout)
    return TargetHead(head.seq, head.files_hash) if ours else None


def _given(pipeline: Pipeline, name: str) -> given.Target | None:
    return next((one for one in pipeline.spec.publish if one.name == name), None)


def _counted_by(pipeline: Pipeline, name: str) -> str:
    """The target whose records in the journal count for a name."""
    return pipeline.spec.publish[0].name if name == REJECTED else name


def _is_of(head: TargetHead, event: Event | None) -> bool:
    return event is None or head.files_hash in (None, event.files_hash)


def _why(head: TargetHead) -> str:
    log = head.log
    if log is None:
        return "it was restored from an older backup, or was emptied"
    if log.torn:
        return f"{log.torn[0]} is torn, as by a power cut"
    if log.committed is not None and log.committed.seq > head.seq:
        return "somebody has restored an older version"
    return "its log was deleted, or restored from an older backup"


def _rows_of(pipeline: Pipeline, name: str) -> str:
    layout = pipeline.layout
    folders = {REJECTED: layout.rejected / "_delta_log", "delta": layout.table / "_delta_log"}
    if name in folders:
        return str(folders[name])
    if name == "files":
        return str(layout.published)
    target = _given(pipeline, name)
    return target.held_in if target else name
