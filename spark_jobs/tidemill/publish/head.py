"""The head that a target keeps beside its rows, and whether an event is the next one after it."""

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.journal.journal import Event
from tidemill.journal.takeovers import inherited, lineage
from tidemill.publish.fence import fenced_out
from tidemill.publish.target import HeadUnexplained, NotOurTurn
from tidemill.storage.target_names import name_in_targets


class TableTaken(Refused):
    """The table holds rows of somebody else; carries `table` and, if known, `pipeline`."""


@dataclass(frozen=True)
class Head:
    """The head of a table.

    Args:
        last_batch: The last that is in the table, -1 for none.
        seq: The seq of the last event, in the journal.
        epoch: The newest that wrote.
    """

    pipeline: str
    generation: str = ""
    last_batch: int = -1
    seq: int = 0
    epoch: int = 0
    files_hash: str = ""
    run_id: str = ""

    def shows(self, event: Event) -> bool:
        """Whether an event is the last that the table has taken."""
        if (self.seq, self.files_hash) != (event.seq, event.files_hash):
            return False
        return event.kind == "swap" or (self.generation, self.last_batch) == (
            event.generation,
            event.last,
        )

    def after(self, event: Event, pipeline: str, epoch: int) -> "Head":
        """The head once an event is in the table; a swap stays at the last batch."""
        moved = event.kind != "swap"
        return replace(
            self,
            pipeline=pipeline,
            generation=event.generation if moved else self.generation,
            last_batch=event.last if moved else self.last_batch,
            seq=event.seq,
            epoch=epoch,
            files_hash=event.files_hash,
            run_id=event.run_id,
        )


@runtime_checkable
class KeepsHead(Protocol):
    """A target outside the root that says how far it is."""

    @property
    def name(self) -> str:
        """Its name in the journal."""
        ...

    def read_head(self) -> Head | None:
        """Its head, None for none.

        Raises:
            TargetUnreachable: it does not answer.
        """
        ...


@dataclass(frozen=True)
class Turn:
    """Decides from a head whether an event is the next one to apply.

    Args:
        layout: The folders of the pipeline.
        epoch: The epoch of the writer's lease.
        target: The target's name.
        table: The table's name.
        refill: How a person has the table filled again.
    """

    layout: Layout
    epoch: int
    target: str
    table: str
    refill: str

    def of_pipeline(self, head: Head) -> Head:
        """A head that is this pipeline's, or no pipeline's yet.

        Raises:
            TableTaken: the table is another pipeline's.
        """
        if head.last_batch >= 0 and head.pipeline != name_in_targets(self.layout):
            raise TableTaken(
                f"{self.target} holds the rows of pipeline '{head.pipeline}'.",
                remedy="Name another table under `publish`.",
                table=self.table,
                pipeline=head.pipeline,
            )
        return head

    def owned(self, head: Head) -> Head:
        """A head that the writer may move on.

        Raises:
            LeaseLost: a newer epoch has written.
            TableTaken: the table is another pipeline's.
        """
        self.of_pipeline(head)
        if head.epoch > self.epoch:
            raise fenced_out(self.layout, self.target, self.epoch, head.epoch)
        return head

    def has(self, head: Head, event: Event) -> bool:
        """Whether the table has an event already.

        Raises:
            LeaseLost: a newer epoch has written.
            TableTaken: the table is another pipeline's.
            HeadUnexplained: it counts the event's batches, and these were other files.
            NotOurTurn: an earlier batch is missing.
        """
        self.owned(head)
        if head.shows(event):
            return True
        ours = head.generation in ("", *lineage(self.layout, event.generation))
        last = head.last_batch if ours else -1
        if ours and not head.generation:
            last = max(last, inherited(self.layout, event.generation))
        if event.last <= last if event.in_order else event.seq <= head.seq:
            raise HeadUnexplained(
                f"{self.target} counts batch {head.last_batch} of {head.generation} and event "
                f"{head.seq} as published, of which increment {event.increment:06d} is not the "
                "last part, or was other files.",
                remedy=f"If this root is the right one: {self.refill}.",
                target=self.target,
                increment=event.increment,
                head=head.last_batch,
            )
        if event.kind == "replace" or (
            ours and event.first == last + 1 if event.in_order else not ours or event.last <= last
        ):
            return False
        raise NotOurTurn(
            f"{self.target} ends at batch {last}, so event {event.seq} ({event.kind} of batches "
            f"{event.first} to {event.last}) is not next.",
            remedy=f"Nothing was published to it. Where its rows were lost: {self.refill}.",
            target=self.target,
            head=last,
            first=event.first,
        )
