"""One connection to a database: the head row of a table, its columns, and its rows.

What PostgreSQL and MariaDB say alike stands here; what differs, they fill in.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple, dataclass
from typing import Any

import pyarrow as pa

from tidemill.contract.clock import wall_clock
from tidemill.contract.errors import Refused
from tidemill.publish.database.storable import Storable
from tidemill.publish.head import Head

HEADS = "tidemill_heads"
GENERATION = "_tidemill_generation"
BATCH = "_tidemill_batch"
STAGING = "tidemill_staging"


class KeyRepeated(Refused):
    """A key is there twice, and nothing says which row is the later one; carries `keys`."""


@dataclass(frozen=True)
class Existing:
    """A table that is there.

    Args:
        columns: Name -> type, as the database spells it.
        key: The columns of its primary key.
    """

    columns: dict[str, str]
    key: frozenset[str]


class Session(ABC):
    """An open connection, for one table.

    Args:
        schema: PostgreSQL's schema, MariaDB's database.
        storable: What becomes of values that have no place.
    """

    # The types and the options of the head table.
    time_type: str
    head_options: str = ""
    # After an INSERT of a row that may be there.
    unless_there: str
    # The table that `stage` makes.
    temporary: str

    def __init__(self, schema: str, table: str, storable: Storable) -> None:
        self.schema = schema
        self.table = table
        self.storable = storable

    @abstractmethod
    def quoted(self, name: str) -> str:
        """A name as an identifier.

        Raises:
            NameUnfit: the database has no such names.
        """

    @abstractmethod
    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement with bound values; its rows, if it has any."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing, and as all sessions of ours need it: UTC, strict, waiting a little."""

    @abstractmethod
    def type_of(self, kind: pa.DataType, *, key: bool) -> str:
        """The type of a column, as `existing` would tell it.

        Raises:
            TypeUnfit: the database has none for it.
        """

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Whether the schema has a table."""

    @abstractmethod
    def existing(self) -> Existing | None:
        """The table as it is; None where there is none."""

    @abstractmethod
    def create(self, columns: dict[str, str], key: Sequence[str]) -> str:
        """The statement that creates the table."""

    @abstractmethod
    def load(self, into: str, columns: Sequence[str], chunks: Iterable[pa.RecordBatch]) -> int:
        """Put chunks into a table; how many rows it took.

        Args:
            into: The table, quoted.
            columns: Those of the chunks, in their order.
            chunks: The rows.
        """

    @abstractmethod
    def stage(self, columns: Sequence[str]) -> None:
        """Make an empty table of this session alone, `temporary`, with some of the columns."""

    @abstractmethod
    def merge(self, columns: Sequence[str], key: Sequence[str]) -> str:
        """The statement that upserts the staged rows, of each key that of the last batch."""

    @property
    def place(self) -> str:
        return f"{self.quoted(self.schema)}.{self.quoted(self.table)}"

    @property
    def heads(self) -> str:
        return f"{self.quoted(self.schema)}.{self.quoted(HEADS)}"

    def prepare(self, pipeline: str) -> None:
        """Make the head table and this table's row in it, where they are missing."""
        if not self.has_table(HEADS):
            self.create_heads()
        with self.transaction():
            if self._head() is None:
                self._first_head(Head(pipeline))

    def create_heads(self) -> None:
        with self.transaction():
            self.execute(
                f"CREATE TABLE IF NOT EXISTS {self.heads} ("
                "table_name varchar(128) NOT NULL PRIMARY KEY, pipeline varchar(255) NOT NULL, "
                "generation varchar(255) NOT NULL, last_batch bigint NOT NULL, "
                "seq bigint NOT NULL, epoch bigint NOT NULL, files_hash varchar(64) NOT NULL, "
                f"run_id varchar(255) NOT NULL, applied_at {self.time_type} NOT NULL"
                f") {self.head_options}"
            )

    def lock_head(self) -> Head:
        """The head row, which no one else can read for update before we are done."""
        head = self._head(" FOR UPDATE")
        if head is None:
            msg = f"{self.heads} lost the row of {self.table}"
            raise LookupError(msg)
        return head

    def read_head(self) -> Head | None:
        """The head row as it is, None where there is none."""
        return self._head() if self.has_table(HEADS) else None

    def write_head(self, head: Head) -> None:
        self.execute(
            f"UPDATE {self.heads} SET pipeline = %s, generation = %s, last_batch = %s, seq = %s, "
            "epoch = %s, files_hash = %s, run_id = %s, applied_at = %s WHERE table_name = %s",
            (*astuple(head), wall_clock(), self.table),
        )

    def has_rows(self) -> bool:
        return bool(self.execute(f"SELECT 1 FROM {self.place} LIMIT 1"))

    def append(self, columns: Sequence[str], chunks: Iterable[pa.RecordBatch]) -> int:
        return self.load(self.place, columns, chunks)

    def clear(self) -> None:
        """Delete all rows; readers see them until the transaction ends."""
        self.execute(f"DELETE FROM {self.place}")

    def equal(self, name: str, kind: pa.DataType) -> str:
        """The condition that a column has a bound value, which may be null, to the letter."""
        return f"{self.quoted(name)} IS NOT DISTINCT FROM %s"

    def stage_rows(
        self, columns: Sequence[str], chunks: Iterable[pa.RecordBatch], key: Sequence[str]
    ) -> int:
        """Put rows into a table of this session alone; how many there are.

        If several batches hold a key, the last batch's row counts. Within one batch there is
        no order that a second run would find again, so there a repeated key is refused.

        Raises:
            KeyRepeated: a key is there twice in one batch.
        """
        self.stage(columns)
        staged = self.load(self.temporary, columns, chunks)
        names = ", ".join(map(self.quoted, key))
        batch = self.quoted(BATCH)
        repeated = self.execute(
            f"SELECT {names}, {batch} FROM {self.temporary} GROUP BY {names}, {batch} "
            "HAVING count(*) > 1 LIMIT 1"
        )
        if repeated:
            raise KeyRepeated(
                f"Batch {repeated[0][-1]} has a key of output.keys ({', '.join(key)}) twice, and "
                "nothing says which row is the later one.",
                remedy="Aggregate in the transform, or let the target append; to this target "
                "nothing was published.",
                keys=tuple(key),
                batch=repeated[0][-1],
            )
        return staged

    def merge_rows(self, columns: Sequence[str], key: Sequence[str]) -> None:
        """Replace the rows of the staged rows' keys, and add the others."""
        self.execute(self.merge(columns, key))

    def _first_head(self, head: Head) -> None:
        self.execute(
            f"INSERT INTO {self.heads} (pipeline, generation, last_batch, seq, epoch, "
            "files_hash, run_id, applied_at, table_name) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) " + self.unless_there,
            (*astuple(head), wall_clock(), self.table),
        )

    def _head(self, locking: str = "") -> Head | None:
        found = self.execute(
            "SELECT pipeline, generation, last_batch, seq, epoch, files_hash, run_id "
            f"FROM {self.heads} WHERE table_name = %s{locking}",
            (self.table,),
        )
        return Head(*found[0]) if found else None
