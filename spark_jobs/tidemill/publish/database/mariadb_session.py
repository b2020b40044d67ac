"""A connection to MariaDB or MySQL, in strict mode: rows come by INSERTs of many rows.

LOAD DATA LOCAL would be 2.6 times as fast (275,000 against 105,000 rows a second, on one core), but
a client that allows it hands any file of its own to a server that asks for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from tidemill.contract.errors import Refused
from tidemill.publish.database.errors import name_unfit
from tidemill.publish.database.session import BATCH, STAGING, Existing, Session
from tidemill.publish.database.storable import Storable
from tidemill.publish.encoding import type_unfit
from tidemill.spec.database_names import MARIADB_KEY, unfit_for_mariadb

# The size of one INSERT in bytes; smaller where the server takes less.
STATEMENT_BYTES = 8 * 2**20
# To which only equal texts are equal: MariaDB's, and MySQL's since 8.0.17. MariaDB 11.4 has one of
# MySQL's name too, to which spaces at the end do not count: its own is the first.
EXACT_COLLATIONS = ("utf8mb4_nopad_bin", "utf8mb4_0900_bin")
# In an older MySQL: no upper case equals its lower case, but spaces at the end do not count.
PADDED_COLLATION = "utf8mb4_bin"
TYPES = {
    "bool": "tinyint(1)",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    # Its own `float` prints six digits.
    "float": "double",
    "double": "double",
    "string": "longtext",
    "binary": "longblob",
    "date32[day]": "date",
    "timestamp[us, tz=UTC]": "datetime(6)",
    "timestamp[us]": "datetime(6)",
}


class EngineUnfit(Refused):
    """The table's engine has no transactions; carries `engine`."""


class CollationUnfit(Refused):
    """Keys that differ are equal to the table; carries `column` and `collation`."""


class MariaDbSession(Session):
    """An open connection to MariaDB or MySQL."""

    time_type = "datetime(6)"
    unless_there = "ON DUPLICATE KEY UPDATE table_name = table_name"

    def __init__(
        self, connected: Connection[Cursor], database: str, table: str, storable: Storable
    ) -> None:
        super().__init__(database, table, storable)
        self.connected = connected
        self.temporary = f"{self.quoted(database)}.{STAGING}"
        ((largest,),) = self.execute("SELECT @@max_allowed_packet")
        known = self.execute(
            "SELECT COLLATION_NAME FROM information_schema.COLLATIONS "
            "WHERE COLLATION_NAME IN (%s, %s)",
            EXACT_COLLATIONS,
        )
        exact = (name for name in EXACT_COLLATIONS if (name,) in known)
        self.collation = next(exact, PADDED_COLLATION)
        self.options = f"ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE {self.collation}"
        self.head_options = self.options
        self.execute("SET SESSION time_zone = '+00:00', innodb_lock_wait_timeout = 30")
        self.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        self.statement_bytes = min(STATEMENT_BYTES, int(largest) // 2)

    def quoted(self, name: str) -> str:
        why = unfit_for_mariadb(name)
        if why is not None:
            raise name_unfit(name, why)
        return "`" + name.replace("`", "``") + "`"

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self.connected.cursor() as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall())

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.connected.begin()
        try:
            yield
        except BaseException:
            # The first error counts, also where the server is gone.
            with suppress(pymysql.Error):
                self.connected.rollback()
            raise
        self.connected.commit()

    def type_of(self, kind: pa.DataType, *, key: bool) -> str:
        if pa.types.is_decimal(kind):
            return f"decimal({kind.precision},{kind.scale})"
        if pa.types.is_nested(kind):
            # MariaDB's `json` is a longtext; MySQL would put its members into another order.
            return "longtext"
        if str(kind) not in TYPES:
            raise type_unfit(kind, "MariaDB")
        if key and pa.types.is_string(kind):
            return f"varchar({MARIADB_KEY['string']})"
        if key and pa.types.is_binary(kind):
            return f"varbinary({MARIADB_KEY['binary']})"
        return TYPES[str(kind)]

    def has_table(self, name: str) -> bool:
        return bool(self._of_schema("TABLE_NAME", "TABLES", name))

    def existing(self) -> Existing | None:
        engine = self._of_schema("ENGINE", "TABLES", self.table)
        if not engine:
            return None
        if engine != [("InnoDB",)]:
            raise EngineUnfit(
                f"{self.table} has the engine {engine[0][0]}, which has no transactions.",
                remedy="ALTER TABLE … ENGINE=InnoDB; nothing was published to it.",
                engine=engine[0][0],
            )
        columns = self._of_schema(
            "COLUMN_NAME, COLUMN_TYPE, COLLATION_NAME, COLUMN_KEY", "COLUMNS", self.table
        )
        for name, _, collation, key in columns:
            if key == "PRI" and collation not in (None, self.collation):
                raise CollationUnfit(
                    f"{self.table}.{name} has the collation {collation}, to which keys that differ "
                    "are equal.",
                    remedy=f"Give the column the collation {self.collation}, or name another "
                    "table under `publish`.",
                    column=name,
                    collation=collation,
                )
        return Existing(
            {name: _without_width(kind) for name, kind, _, _ in columns},
            frozenset(name for name, _, _, key in columns if key == "PRI"),
        )

    def create(self, columns: dict[str, str], key: Sequence[str]) -> str:
        parts = [f"{self.quoted(name)} {kind}" for name, kind in columns.items()]
        if key:
            parts.append(f"PRIMARY KEY ({', '.join(map(self.quoted, key))})")
        # Whoever was as fast as we are has created the same table.
        return f"CREATE TABLE IF NOT EXISTS {self.place} ({', '.join(parts)}) {self.options}"

    def load(self, into: str, columns: Sequence[str], chunks: Iterable[pa.RecordBatch]) -> int:
        start = f"INSERT INTO {into} ({', '.join(map(self.quoted, columns))}) VALUES "
        taken = 0
        place = "(" + ", ".join(["%s"] * len(columns)) + ")"
        with self.connected.cursor() as cursor:
            for chunk in chunks:
                columns_of_values = map(_values, chunk.columns)
                rows = (cursor.mogrify(place, row) for row in zip(*columns_of_values, strict=True))
                for values in _grouped(rows, self.statement_bytes):
                    taken += cursor.execute(start + values)
        return taken

    def stage_rows(
        self, columns: Sequence[str], chunks: Iterable[pa.RecordBatch], key: Sequence[str]
    ) -> int:
        if self.collation == PADDED_COLLATION:
            chunks = (self._without_padding(chunk, key) for chunk in chunks)
        return super().stage_rows(columns, chunks, key)

    def stage(self, columns: Sequence[str]) -> None:
        names = ", ".join(map(self.quoted, columns))
        # These two do not end a transaction.
        self.execute(f"DROP TEMPORARY TABLE IF EXISTS {self.temporary}")
        self.execute(
            f"CREATE TEMPORARY TABLE {self.temporary} {self.options} "
            f"AS SELECT {names} FROM {self.place} WHERE FALSE"
        )

    def equal(self, name: str, kind: pa.DataType) -> str:
        # The column may have another collation, to which more than this text is equal.
        if pa.types.is_string(kind):
            return f"CAST({self.quoted(name)} AS BINARY) <=> CAST(%s AS BINARY)"
        return f"{self.quoted(name)} <=> %s"

    def merge(self, columns: Sequence[str], key: Sequence[str]) -> str:
        names, keys = (", ".join(map(self.quoted, some)) for some in (columns, key))
        others = [self.quoted(name) for name in columns if name not in key]
        return (
            f"INSERT INTO {self.place} ({names}) SELECT {names} FROM ("
            f"SELECT {names}, row_number() OVER (PARTITION BY {keys} "
            f"ORDER BY {self.quoted(BATCH)} DESC) AS tidemill_place FROM {self.temporary}"
            ") AS numbered WHERE tidemill_place = 1 ON DUPLICATE KEY UPDATE "
            + ", ".join(f"{name} = numbered.{name}" for name in others)
        )

    def _without_padding(self, chunk: pa.RecordBatch, key: Sequence[str]) -> pa.RecordBatch:
        for name in key:
            column = chunk.column(name)
            if pa.types.is_string(column.type) and pc.any(pc.ends_with(column, " ")).as_py():
                raise CollationUnfit(
                    f"{self.table}.{name}: a key ends with a space, which MySQL before 8.0.17 "
                    "does not tell from the key without it.",
                    remedy="Update the server, or trim the key in the transform; nothing was "
                    "published to it.",
                    column=name,
                    collation=self.collation,
                )
        return chunk

    def _of_schema(self, what: str, of: str, table: str) -> list[tuple[Any, ...]]:
        order = " ORDER BY ORDINAL_POSITION" if of == "COLUMNS" else ""
        return self.execute(
            f"SELECT {what} FROM information_schema.{of} "
            f"WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s{order}",
            (self.schema, table),
        )


def _grouped(rows: Iterable[str], limit: int) -> Iterator[str]:
    """Rows joined into texts of at most so many bytes; a row that is longer stands alone."""
    group: list[str] = []
    size = 0
    for row in rows:
        length = len(row.encode()) + 1
        if group and size + length > limit:
            yield ",".join(group)
            group, size = [], 0
        group.append(row)
        size += length
    if group:
        yield ",".join(group)


def _values(column: pa.Array) -> list[Any]:
    kind = column.type
    if pa.types.is_timestamp(kind):
        # Without its zone, which is UTC as the session's is.
        column = column.cast(pa.timestamp("us"))
    if pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.string())
    values: list[Any] = column.to_pylist()
    return values


def _without_width(kind: str) -> str:
    """A type without the width that MariaDB prints, and MySQL no longer does."""
    name, _, rest = kind.partition("(")
    numbers = ("tinyint", "smallint", "int", "bigint")
    if name not in numbers or kind == "tinyint(1)" or "unsigned" in rest:
        return kind
    return name
