"""An event of the journal, and the marks that a target applied it or that it was withdrawn."""

from datetime import datetime
from typing import Any

from pydantic import AliasChoices, Field

from tidemill.contract.document import Document
from tidemill.journal.recomputation import BatchRange, Recomputation
from tidemill.ledger.run_kinds import EventKind


class Event(Document):
    """One publish event.

    Attributes:
        kind: `increment` adds the rows of the next batches, `reject` says that they never come,
            `swap` puts rows in the place of whole partitions, `replace` in the place of all.
        first: The first of them; of a swap 0.
        files: Where its files are, if not in these batches.
        recomputation: Why it is not a run of live batches; None where it is one.
        rejection: Who decided a `reject`, and why.
        epoch: Epoch of the writer's lease; 0 in older documents.
    """

    seq: int
    kind: EventKind = "increment"
    increment: int
    generation: str
    first: int
    last: int
    files: BatchRange | None = None
    recomputation: Recomputation | None = Field(
        default=None, validation_alias=AliasChoices("recomputation", "made")
    )
    rows: int
    rejected: int
    files_hash: str
    verdict: dict[str, Any]
    release: dict[str, Any] | None
    rejection: dict[str, Any] | None = None
    run_id: str
    at: datetime
    epoch: int = 0

    @property
    def stored_in(self) -> BatchRange:
        """The batches that hold its files."""
        own = BatchRange(generation=self.generation, first=self.first, last=self.last)
        return self.files or own

    @property
    def in_order(self) -> bool:
        """Whether it moves a target's head on to its last batch."""
        return self.kind in ("increment", "reject")


class Applied(Document):
    """The record that a target applied an event.

    Attributes:
        head: Whether it was the one whose head says what consumers see.
        version: The target's version after it.
    """

    seq: int
    target: str
    head: bool = True
    version: int
    run_id: str
    at: datetime


class Withdrawal(Document):
    """The record that an event was withdrawn: no target has applied it, and none will.

    Attributes:
        by: The person; empty where publish itself found that the event came too late.
    """

    seq: int
    by: str = ""
    reason: str
    run_id: str
    epoch: int
    at: datetime


class Announced(Document):
    """Records that consumers were told."""

    at: datetime
