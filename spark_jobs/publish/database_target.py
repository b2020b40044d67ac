"""A database table as a target: an event's rows and its head row in one transaction, or neither."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager

from spark_jobs.contract.errors import LeaseLost, Refused, TransientError
from spark_jobs.contract.targets import DatabaseTarget as Given
from spark_jobs.ledger.journal import Event
from spark_jobs.publish.incoming import Incoming
from spark_jobs.publish.payload import Payload
from spark_jobs.publish.session import Head, Session
from spark_jobs.publish.table_change import TableTaken, changes
from spark_jobs.publish.target import HeadUnexplained, NotOurTurn

# A look, a change of the table's columns, a look, the rows.
ATTEMPTS = 3


class RowsMissing(Refused):
    """The database took another number of rows than it was given; carries both."""


class TableContended(TransientError):
    """Somebody else kept changing the table's columns."""


class DatabaseTarget(ABC):
    """A table of a database.

    Args:
        given: The target in the spec.
        pipeline: Its name.
        epoch: Of the lease.
        say: Gets lines for the task log.
    """

    def __init__(
        self, given: Given, *, pipeline: str, epoch: int, say: Callable[[str], None]
    ) -> None:
        self.given = given
        self.pipeline = pipeline
        self.epoch = epoch
        self.say = say

    @property
    def name(self) -> str:
        return self.given.name

    @abstractmethod
    def session(self) -> AbstractContextManager[Session]:
        """A connection; errors of its driver come out as ours, without secrets."""

    def find(self, event: Event) -> int | None:
        with self.session() as session:
            head = session.read_head()
        return event.seq if head is not None and _is_of(head, event) else None

    def apply(self, event: Event, payload: Payload) -> int:
        incoming = Incoming(payload, self.given.mode_for(payload.mode))
        incoming.check_keys()
        with self.session() as session:
            session.prepare(self.pipeline)
            for _ in range(ATTEMPTS):
                with session.transaction():
                    head = session.lock_head()
                    if self._has(head, event):
                        return event.seq
                    statements = changes(session, head, incoming, self._anew)
                    if not statements:
                        self._write(session, event, incoming)
                        return event.seq
                    # Committed at once: MariaDB cannot do otherwise. Then all is compared anew.
                    for statement in statements:
                        session.execute(statement)
        raise TableContended(
            f"{self.name}: its columns changed under our hands, {ATTEMPTS} times.",
            remedy="The retry looks again.",
            target=self.name,
        )

    @property
    def _anew(self) -> str:
        """What a person does to have the table filled anew."""
        return (
            "drop the table, its row in tidemill_heads, and the files "
            f"*.{self.name}.json in the pipeline's journal/, and the next run fills it anew"
        )

    def _has(self, head: Head, event: Event) -> bool:
        """Whether the table has an event already.

        Raises:
            LeaseLost: a newer epoch has written.
            TableTaken: the table is another pipeline's.
            HeadUnexplained: it counts the event's batches, and these were other files.
            NotOurTurn: an earlier batch is missing.
        """
        if head.last_batch >= 0 and head.pipeline != self.pipeline:
            raise TableTaken(
                f"{self.name} holds the rows of pipeline '{head.pipeline}'.",
                remedy="Name another table under `publish`.",
                table=self.given.table,
                pipeline=head.pipeline,
            )
        if head.epoch > self.epoch:
            raise LeaseLost(
                f"{self.name} was written under epoch {head.epoch}, and this process holds "
                f"{self.epoch}.",
                remedy="Nothing to do: the newer run carries on.",
                epoch=self.epoch,
                newer=head.epoch,
            )
        if _is_of(head, event):
            return True
        last = head.last_batch if head.generation in ("", event.generation) else -1
        if event.last <= last:
            raise HeadUnexplained(
                f"{self.name} counts batch {last} of {event.generation} as published, of which "
                f"increment {event.increment:06d} is not the last part, or was other files.",
                remedy=f"If this root is the right one: {self._anew}.",
                target=self.name,
                increment=event.increment,
                head=last,
            )
        if event.first != last + 1:
            raise NotOurTurn(
                f"{self.name} ends at batch {last}, so batches {event.first} to {event.last} are "
                "not next.",
                remedy=f"Nothing was published to it. Where its rows were lost: {self._anew}.",
                target=self.name,
                head=last,
                first=event.first,
            )
        return False

    def _write(self, session: Session, event: Event, incoming: Incoming) -> None:
        columns, chunks = incoming.columns, incoming.chunks(session.storable)
        match incoming.mode:
            case "append":
                stored = session.append(columns, chunks)
            case "replace":
                stored = session.replace(columns, chunks)
            case "upsert":
                stored = session.upsert(columns, chunks, incoming.keys)
        if stored != incoming.payload.rows:
            raise RowsMissing(
                f"{self.name} took {stored} of {incoming.payload.rows} rows.",
                remedy="Look for a trigger or a rule of the table's; nothing was published to it.",
                target=self.name,
                given=incoming.payload.rows,
                stored=stored,
            )
        session.write_head(
            Head(
                self.pipeline,
                event.generation,
                event.last,
                event.seq,
                self.epoch,
                event.files_hash,
                event.run_id,
            )
        )
        for column, count in session.storable.nulled.items():
            self.say(f"warning: {self.name}: null is stored for {count} values of '{column}'")


def _is_of(head: Head, event: Event) -> bool:
    return (head.generation, head.last_batch, head.files_hash) == (
        event.generation,
        event.last,
        event.files_hash,
    )
