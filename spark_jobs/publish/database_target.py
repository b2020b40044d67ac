"""A database table as a target: an event's rows and its head row in one transaction, or neither."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pyarrow as pa

from spark_jobs.contract.errors import LeaseLost, Refused, TransientError
from spark_jobs.contract.output import Output
from spark_jobs.contract.targets import DatabaseTarget as Given
from spark_jobs.ledger.journal import Event
from spark_jobs.publish.json_text import is_nested
from spark_jobs.publish.payload import Payload
from spark_jobs.publish.session import BATCH, GENERATION, Existing, Head, Session
from spark_jobs.publish.table_schema import changed
from spark_jobs.publish.target import HeadUnexplained, NotOurTurn

# A look, a change of the table's columns, a look, the rows.
ATTEMPTS = 3


class TableTaken(Refused):
    """The table holds rows of somebody else; carries `table` and, if known, `pipeline`."""


class TableGone(Refused):
    """The head row counts batches, and the table is not there; carries `table` and `head`."""


class KeyUnfit(Refused):
    """`output.keys` cannot be the table's key; carries `keys` and `why`."""


class RowsMissing(Refused):
    """The database took another number of rows than it was given; carries both."""


class TableContended(TransientError):
    """Somebody else kept changing the table's columns."""


class DatabaseTarget(ABC):
    """A table of a database.

    Args:
        given: The target in the spec.
        output: The spec's output.
        pipeline: Its name.
        epoch: Of the lease.
        say: Gets lines for the task log.
    """

    def __init__(
        self,
        given: Given,
        output: Output,
        *,
        pipeline: str,
        epoch: int,
        say: Callable[[str], None],
    ) -> None:
        self.given = given
        self.mode = given.mode_for(output)
        self.keys = output.keys if self.mode == "upsert" else ()
        self.pipeline = pipeline
        self.epoch = epoch
        self.say = say

    @property
    def name(self) -> str:
        return self.given.name

    @property
    def _anew(self) -> str:
        """What a person does to have the table filled anew."""
        return (
            "drop the table, its row in tidemill_heads, and the files "
            f"*.{self.name}.json in the pipeline's journal/, and the next run fills it anew"
        )

    @abstractmethod
    def session(self) -> AbstractContextManager[Session]:
        """A connection; errors of its driver come out as ours, without secrets."""

    def find(self, event: Event) -> int | None:
        with self.session() as session:
            head = session.read_head()
        return event.seq if head is not None and _is_of(head, event) else None

    def apply(self, event: Event, payload: Payload) -> int:
        self._check_key(payload.schema)
        with self.session() as session:
            session.prepare(self.pipeline)
            for _ in range(ATTEMPTS):
                with session.transaction():
                    head = session.lock_head()
                    if self._has(head, event):
                        return event.seq
                    statements = self._changes(session, head, payload)
                    if not statements:
                        self._write(session, event, payload)
                        return event.seq
                    # Committed at once: MariaDB cannot do otherwise. Then all is compared anew.
                    for statement in statements:
                        session.execute(statement)
        raise TableContended(
            f"{self.name}: its columns changed under our hands, {ATTEMPTS} times.",
            remedy="The retry looks again.",
            target=self.name,
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

    def _changes(self, session: Session, head: Head, payload: Payload) -> list[str]:
        """The statements that give the table the payload's columns; none where it has them.

        Raises:
            SchemaChanged: a column has another type, or one of the table's is missing.
            KeyUnfit: rows are told apart by other columns.
            TableTaken: the table has rows, and nothing says that they are ours.
            TableGone: it was dropped, and its head row was not.
        """
        wanted = {
            field.name: session.type_of(field.type, key=field.name in self.keys)
            for field in (*payload.schema, *_ENGINE)
        }
        existing = session.existing()
        if existing is None:
            if head.last_batch >= 0:
                raise TableGone(
                    f"{self.name} is gone, and tidemill_heads says that it holds batches up to "
                    f"{head.last_batch}.",
                    remedy=f"Restore it, or {self._anew}.",
                    table=self.given.table,
                    head=head.last_batch,
                )
            return [session.create(wanted, self.keys)]
        if head.last_batch < 0 and session.has_rows():
            raise TableTaken(
                f"{self.name} has rows, and tidemill_heads does not say from where.",
                remedy=f"Name another table under `publish`, or {self._anew}.",
                table=self.given.table,
            )
        if self.keys and existing.key != set(self.keys):
            raise KeyUnfit(
                f"{self.name} has the primary key ({', '.join(sorted(existing.key)) or 'none'}), "
                f"and output.keys are {', '.join(self.keys)}.",
                remedy="Name another table under `publish`.",
                keys=self.keys,
                why=sorted(existing.key),
            )
        if not payload.files:
            return []
        return [
            f"ALTER TABLE {session.place} ADD COLUMN {session.quoted(name)} {kind}"
            for name, kind in _added(existing, wanted).items()
        ]

    def _write(self, session: Session, event: Event, payload: Payload) -> None:
        columns = [field.name for field in (*payload.schema, *_ENGINE)]
        chunks = self._chunks(session, payload)
        match self.mode:
            case "append":
                stored = session.append(columns, chunks)
            case "replace":
                stored = session.replace(columns, chunks)
            case "upsert":
                stored = session.upsert(columns, chunks, self.keys)
        if stored != payload.rows:
            raise RowsMissing(
                f"{self.name} took {stored} of {payload.rows} rows.",
                remedy="Look for a trigger or a rule of the table's; nothing was published to it.",
                target=self.name,
                given=payload.rows,
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

    def _chunks(self, session: Session, payload: Payload) -> Iterator[pa.RecordBatch]:
        for batch, chunk in payload.read():
            self._check_nulls(chunk)
            stored = session.storable.of(chunk)
            yield pa.RecordBatch.from_arrays(
                [
                    *stored.columns,
                    pa.repeat(payload.generation, chunk.num_rows),
                    pa.repeat(pa.scalar(batch, pa.int64()), chunk.num_rows),
                ],
                names=[*stored.schema.names, GENERATION, BATCH],
            )

    def _check_key(self, schema: pa.Schema) -> None:
        for name in self.keys:
            if name not in schema.names:
                raise self._unfit(name, f"is no column; there are {', '.join(schema.names)}")
            if is_nested(schema.field(name).type):
                raise self._unfit(name, f"is of type {schema.field(name).type}")

    def _check_nulls(self, chunk: pa.RecordBatch) -> None:
        for name in self.keys:
            if chunk.column(name).null_count:
                raise self._unfit(name, f"is null in {chunk.column(name).null_count} rows")

    def _unfit(self, name: str, why: str) -> KeyUnfit:
        return KeyUnfit(
            f"output.keys names '{name}', which {why}.",
            remedy="A key tells rows apart: correct output.keys, or reject such rows by a row "
            f"rule. To {self.name} nothing was published.",
            keys=self.keys,
            why=why,
        )


_ENGINE = (pa.field(GENERATION, pa.string()), pa.field(BATCH, pa.int64()))


def _is_of(head: Head, event: Event) -> bool:
    return (head.generation, head.last_batch, head.files_hash) == (
        event.generation,
        event.last,
        event.files_hash,
    )


def _added(existing: Existing, wanted: dict[str, str]) -> dict[str, str]:
    for name, kind in existing.columns.items():
        if name not in wanted:
            raise changed(name, kind, None)
        if wanted[name] != kind:
            raise changed(name, kind, wanted[name])
    return {name: kind for name, kind in wanted.items() if name not in existing.columns}
