"""Repairs a target that lost rows: applies the missing events again, from the journal.

Nothing is deleted. A torn entry of a table's log and the records that say "applied" are renamed,
and stay where they are. An older version that somebody restored is undone by restoring the newest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deltalake.exceptions import DeltaError

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused, UsageError
from tidemill.contract.layout import Layout
from tidemill.contract.log import Log
from tidemill.file_formats.delta_log import put_aside
from tidemill.file_formats.delta_table import open_table
from tidemill.journal.journal import Event, Journal
from tidemill.journal.settled import clear_settled
from tidemill.publish.outgoing_event import Outgoing
from tidemill.publish.target_heads import (
    REJECTED,
    TargetBehindJournal,
    head_of,
    verify_target,
)
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.lease import hold


class VersionGone(Refused):
    """The version before a RESTORE cannot be brought back; carries `table` and `version`."""


@dataclass(frozen=True)
class Repair:
    """The damage of a target, and its repair.

    Args:
        target: Its name, or `rejected`.
        problem: One sentence; None where nothing is wrong.
        torn: Entries of its log to be put aside.
        restore: The version to bring back; None for none.
        events: The numbers of the journal's events to apply again.
    """

    target: str
    problem: str | None = None
    torn: tuple[Path, ...] = ()
    restore: int | None = None
    events: tuple[int, ...] = ()

    @property
    def steps(self) -> Iterator[str]:
        """The planned actions, as phrases."""
        for entry in self.torn:
            yield f"put the torn log entry {entry} aside"
        if self.restore is not None:
            yield f"restore version {self.restore} of the table, from before it was set back"
        if self.events:
            which = f"{self.events[0]} to {self.events[-1]}"
            when = "now" if self.target == REJECTED else "with the next run"
            events = counted(len(self.events), "event")
            yield f"apply {events} of the journal again ({which}), {when}"


def plan_repair(pipeline: Pipeline, target: str) -> Repair:
    """Find out what a target lost.

    Raises:
        UsageError: there is no such target, or it does not tell how far it is.
        TargetAheadOfJournal: it is not the target that lost something.
        BooksDisagree: files that would have to be applied again are gone.
    """
    known = [REJECTED, *(one.name for one in pipeline.spec.publish)]
    head = head_of(pipeline, target) if target in known else None
    if head is None:
        raise UsageError(
            f"'{target}' is not a target of {pipeline.name} that tells how far it is.",
            remedy=f"Give one of: {', '.join(known)}. Kafka and targets of your own cannot tell.",
            target=target,
            known=known,
        )
    try:
        verify_target(pipeline, target)
    except TargetBehindJournal as error:
        problem = error.what
    else:
        return Repair(target)
    shown, restore = head.seq, None
    if head.log and head.log.committed and head.log.committed.seq > shown:
        shown, restore = head.log.committed.seq, head.log.committed.version
    applied = Journal(pipeline.layout.journal).applied_by(_recorded_as(pipeline, target))
    missing = tuple(seq for seq in applied if seq > shown)
    for event in _events(pipeline.layout, missing):
        if event.kind != "reject":
            # Proves that its files are there, and are those that were judged.
            _ = Outgoing(pipeline, event, 0).audited
    return Repair(target, problem, head.log.torn if head.log else (), restore, missing)


def repair_target(pipeline: Pipeline, target: str, run_id: str, log: Log) -> Repair:
    """Do what `plan_repair` says, under the lease.

    Raises:
        VersionGone: the version before a RESTORE cannot be brought back.
    """
    layout = pipeline.layout
    with hold(layout.lease, step="repair", run_id=run_id) as lease:
        found = plan_repair(pipeline, target)
        for entry in found.torn:
            log(f"{entry} is {put_aside(entry).name} now")
        if found.restore is not None:
            _restore(pipeline, target, found.restore)
            log(f"version {found.restore} is restored")
        if found.events:
            clear_settled(layout, lease.epoch)
        for event in _events(layout, found.events):
            if target == REJECTED:
                outgoing = Outgoing(pipeline, event, lease.epoch)
                outgoing.keep_rejected()
                outgoing.drop_replaced()
                log(f"rejected rows of increment {event.increment:06d} are there again")
            else:
                Journal(layout.journal).take_back(event.seq, target)
    return found


def _restore(pipeline: Pipeline, target: str, version: int) -> None:
    layout = pipeline.layout
    table = layout.rejected if target == REJECTED else layout.table
    try:
        open_table(table).restore(version)
    except DeltaError as error:
        raise VersionGone(
            f"Version {version} of {table} cannot be restored ({error}).",
            remedy=f"Move {table / '_delta_log'} away, and repair again: tidemill target repair "
            f"{pipeline.name} {target}. The table is then filled again from the journal.",
            table=table,
            version=version,
        ) from error


def _events(layout: Layout, numbers: Sequence[int]) -> list[Event]:
    journal = Journal(layout.journal)
    return [event for event in map(journal.event, numbers) if event is not None]


def _recorded_as(pipeline: Pipeline, target: str) -> str:
    """The target whose records in the journal count for a name."""
    return pipeline.spec.publish[0].name if target == REJECTED else target
