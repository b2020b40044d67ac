"""A database table as a target: an event's rows and its head row in one transaction.

Every row says from which batch it is. A swap deletes the rows of its partitions up to the batch
that it was computed as of, and writes its own in their place as of that batch; the head row stays
at the last batch, and says by the event's number that the swap is in.
"""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused, TransientError
from tidemill.contract.layout import Layout
from tidemill.contract.log import Log
from tidemill.journal.journal import Event
from tidemill.journal.partition_set import Partitions
from tidemill.journal.takeovers import lineage
from tidemill.publish.database.erased import count_erased, delete_erased
from tidemill.publish.database.incoming_rows import Incoming
from tidemill.publish.database.session import Session
from tidemill.publish.database.swap_rows import check_apart, leave_later, remove_partitions
from tidemill.publish.database.table_change import changes
from tidemill.publish.erased_rows import ErasedRows
from tidemill.publish.head import Head, Turn
from tidemill.publish.payload import Payload
from tidemill.spec.targets import DatabaseTarget as Given
from tidemill.storage.target_names import name_in_targets

# A look, a change of the table's columns, a look, the rows.
ATTEMPTS = 3


class RowsMissing(Refused):
    """The database took another number of rows than it was given; carries both."""


class RowsAhead(Refused):
    """Partitions hold rows that a swap was not computed with; carries `rows`."""


class TableContended(TransientError):
    """Somebody else kept changing the table's columns."""


class DatabaseTarget(ABC):
    """A table of a database.

    Args:
        log: Gets lines for the task log.
    """

    def __init__(self, given: Given, *, layout: Layout, epoch: int, log: Log) -> None:
        self.given = given
        self.layout = layout
        self.epoch = epoch
        self.log = log

    @property
    def name(self) -> str:
        return self.given.name

    @abstractmethod
    def session(self) -> AbstractContextManager[Session]:
        """A connection; errors of its driver come out as ours, without secrets."""

    def find(self, event: Event) -> int | None:
        head = self.read_head()
        return event.seq if head is not None and head.shows(event) else None

    def read_head(self) -> Head | None:
        with self.session() as session:
            return session.read_head()

    def apply(self, event: Event, payload: Payload) -> int:
        incoming = Incoming(payload, self.given.mode_for(payload.mode))
        if event.kind != "reject":
            incoming.check_keys()
        with self.session() as session:
            session.prepare(self._pipeline)
            for _ in range(ATTEMPTS):
                with session.transaction():
                    head = session.lock_head()
                    if self._turn.has(head, event):
                        return event.seq
                    statements = self._changes(session, head, event, incoming)
                    if not statements:
                        self._write(session, head, event, incoming)
                        return event.seq
                    # Committed at once: MariaDB cannot do otherwise. Then all is compared again.
                    for statement in statements:
                        session.execute(statement)
        raise TableContended(
            f"{self.name}: its columns changed under our hands, {ATTEMPTS} times.",
            remedy="The next try looks again.",
            target=self.name,
        )

    def count_rows(self, rows: ErasedRows) -> int:
        with self.session() as session:
            return count_erased(session, rows) if self._owned(session.read_head()) else 0

    def erase_rows(self, rows: ErasedRows) -> None:
        with self.session() as session:
            if not self._owned(session.read_head()):
                return
            with session.transaction():
                head = self._turn.owned(session.lock_head())
                delete_erased(session, rows)
                hashed = rows.hashes.get(head.seq, head.files_hash)
                session.write_head(replace(head, epoch=self.epoch, files_hash=hashed))

    def _owned(self, head: Head | None) -> bool:
        """Whether it holds rows of the journal's.

        Raises:
            TableTaken: those of another pipeline.
        """
        return head is not None and self._turn.of_pipeline(head).seq > 0

    def _changes(self, session: Session, head: Head, event: Event, incoming: Incoming) -> list[str]:
        if event.kind == "reject" and session.existing() is not None:
            # Its columns may be what was wrong with it.
            return []
        return changes(session, head, incoming, self._refill)

    @cached_property
    def _pipeline(self) -> str:
        return name_in_targets(self.layout)

    @property
    def _refill(self) -> str:
        """The instruction for filling the table again."""
        return (
            "drop the table and its row in tidemill_heads; the next run fills it again after: "
            f"tidemill target repair {self.layout.name} {self.name}"
        )

    @property
    def _turn(self) -> Turn:
        return Turn(self.layout, self.epoch, self.name, self.given.table, self._refill)

    def _write(self, session: Session, head: Head, event: Event, incoming: Incoming) -> None:
        stored = self._stored(session, event, incoming)
        if stored != incoming.payload.rows:
            raise RowsMissing(
                f"{self.name} took {stored:,} of {counted(incoming.payload.rows, 'row')}.",
                remedy="Look for a trigger or a rule of the table's; nothing was published to it.",
                target=self.name,
                given=incoming.payload.rows,
                stored=stored,
            )
        session.write_head(head.after(event, self._pipeline, self.epoch))
        for column, count in session.storable.nulled.items():
            self.log(f"warning: {self.name}: null is stored for {count} values of '{column}'")

    def _stored(self, session: Session, event: Event, incoming: Incoming) -> int:
        """Change the rows; how many of the event's were stored."""
        columns, chunks = incoming.columns, incoming.chunks(session.storable)
        if event.kind == "reject":
            return 0
        if event.kind == "swap":
            self._swap_out(session, event, incoming)
        if event.kind == "replace" or (incoming.mode == "replace" and event.in_order):
            session.clear()
        if incoming.mode != "upsert":
            return session.append(columns, chunks)
        staged = session.stage_rows(columns, chunks, incoming.keys)
        if event.kind == "swap":
            if _swapped(event) is None:
                before = [*lineage(self.layout, event.generation)]
                leave_later(session, incoming.keys, before, event.last)
            else:
                check_apart(session, incoming.keys)
        session.merge_rows(columns, incoming.keys)
        return staged

    def _swap_out(self, session: Session, event: Event, incoming: Incoming) -> None:
        partitions = _swapped(event)
        if partitions is None:
            return
        values = incoming.partition_values(partitions)
        left = remove_partitions(session, values, event.generation, event.last)
        if left:
            raise RowsAhead(
                f"{self.name} has {left} rows of {partitions} from after batch {event.last}, with "
                f"which increment {event.increment:06d} was not computed.",
                remedy=f"Nothing was published to it. If the root is right: {self._refill}.",
                target=self.name,
                increment=event.increment,
                rows=left,
            )


def _swapped(event: Event) -> Partitions | None:
    return event.recomputation.partitions if event.recomputation else None
