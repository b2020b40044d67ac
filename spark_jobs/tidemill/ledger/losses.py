"""Records that expired before they were read, and a person's acceptance of that loss.

The word covers exactly the ranges that were shown. It is kept for ever, and so is the batch that
passed over them; anything else that is gone is refused as before (failure-modes row 26).
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from tidemill.contract.document import Document
from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.spark_logs.offset_ranges import Range, records_in
from tidemill.storage import documents


class RecordsExpired(Refused):
    """Unread records are gone; carries `source`, `ranges` and `records`."""


class AcceptedLoss(Document):
    """A person's word that some ranges may be passed over.

    Attributes:
        number: The number of this source's losses, from 1.
        ranges: What was gone when it was given; no more and no less.
        by: Who gave it, as they say.
        os_user: Operating-system user of that process; None in older documents.
    """

    source: str
    number: int
    ranges: tuple[Range, ...]
    records: int
    by: str
    os_user: str | None = None
    reason: str
    accepted: datetime


class PassedLoss(Document):
    """The record that an accepted loss was passed over.

    Attributes:
        batch: The batch that read nothing and stands after the ranges; None where the source had
            read nothing yet, and begins after them.
    """

    number: int
    batch: int | None
    run_id: str
    passed: datetime


class Losses:
    """The losses of one source."""

    def __init__(self, layout: Layout, generation: str, source: str) -> None:
        self.folder: Path = layout.ledger(generation) / "losses" / source
        self.source = source

    def all(self) -> list[AcceptedLoss]:
        """Every loss that was accepted, in order."""
        found = (documents.read(path, AcceptedLoss) for _, path in documents.numbered(self.folder))
        return [loss for loss in found if loss is not None]

    def waiting(self) -> AcceptedLoss | None:
        """The latest one, if it has not been passed over yet."""
        losses = self.all()
        return losses[-1] if losses and self.passed(losses[-1].number) is None else None

    def accept(self, loss: AcceptedLoss) -> None:
        """Write a person's word down.

        Raises:
            AlreadyWritten: another one came first.
        """
        documents.put(self.folder / f"{loss.number:06d}.json", loss)

    def passed(self, number: int) -> PassedLoss | None:
        return documents.read(self._passed(number), PassedLoss)

    def passed_over(self, passed: PassedLoss) -> None:
        documents.put_if_absent(self._passed(passed.number), passed)

    def _passed(self, number: int) -> Path:
        return self.folder / "passed" / f"{number:06d}.json"


def expired(source: str, pipeline: str, ranges: Sequence[Range]) -> RecordsExpired:
    """The error that says what is gone."""
    records = records_in(ranges)
    return RecordsExpired(
        f"sources.{source}: up to {records:,} unread records are gone from the broker: "
        f"{'; '.join(str(one) for one in ranges[:3])}{' …' if ranges[3:] else ''}.",
        remedy="Raise the topic's retention or run more often. To go on without them: "
        f"tidemill accept-loss {pipeline} --reason TEXT.",
        source=source,
        ranges=[one.model_dump() for one in ranges],
        records=records,
    )
