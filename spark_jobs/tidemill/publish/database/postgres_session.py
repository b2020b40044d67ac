"""A connection to PostgreSQL: rows come by COPY."""

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
import pyarrow as pa
from pyarrow import csv

from tidemill.publish.database.errors import name_unfit
from tidemill.publish.database.session import BATCH, STAGING, Existing, Session
from tidemill.publish.database.storable import Storable
from tidemill.publish.encoding import type_unfit
from tidemill.spec.database_names import unfit_for_postgres

# Whoever creates the head table holds this lock, which is made of the letters "tidemill".
CREATION_LOCK = int.from_bytes(b"tidemill") >> 1
TYPES = {
    "bool": "boolean",
    "int8": "smallint",
    "int16": "smallint",
    "int32": "integer",
    "int64": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "binary": "bytea",
    "date32[day]": "date",
    "timestamp[us, tz=UTC]": "timestamp with time zone",
    "timestamp[us]": "timestamp without time zone",
}


class PostgresSession(Session):
    """An open connection to PostgreSQL."""

    time_type = "timestamp with time zone"
    unless_there = "ON CONFLICT DO NOTHING"
    temporary = "pg_temp.tidemill_staging"

    def __init__(
        self, connected: psycopg.Connection[Any], schema: str, table: str, storable: Storable
    ) -> None:
        super().__init__(schema, table, storable)
        self.connected = connected

    def quoted(self, name: str) -> str:
        why = unfit_for_postgres(name)
        if why is not None:
            raise name_unfit(name, why)
        return '"' + name.replace('"', '""') + '"'

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        # As bytes: what was put together here cannot be a literal to the type checker.
        cursor = self.connected.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.connected.transaction():
            self.execute("SET LOCAL TIME ZONE 'UTC'")
            self.execute("SET LOCAL lock_timeout = '30s'")
            # A publisher that is paused must not keep the head row for ever.
            self.execute("SET LOCAL idle_in_transaction_session_timeout = '5min'")
            yield

    def type_of(self, kind: pa.DataType, *, key: bool) -> str:
        if pa.types.is_decimal(kind):
            return f"numeric({kind.precision},{kind.scale})"
        if pa.types.is_nested(kind):
            return "jsonb"
        if str(kind) not in TYPES:
            raise type_unfit(kind, "PostgreSQL")
        return TYPES[str(kind)]

    def create_heads(self) -> None:
        with self.connected.transaction():
            # Two that create one table at once would both find it missing, and one would fail.
            self.execute("SELECT pg_advisory_xact_lock(%s)", (CREATION_LOCK,))
            super().create_heads()

    def has_table(self, name: str) -> bool:
        place = f"{self.quoted(self.schema)}.{self.quoted(name)}"
        return self.execute("SELECT to_regclass(%s) IS NOT NULL", (place,)) == [(True,)]

    def existing(self) -> Existing | None:
        if not self.has_table(self.table):
            return None
        columns = self.execute(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            (self.place,),
        )
        key = self.execute(
            "SELECT attname FROM pg_index JOIN pg_attribute "
            "ON attrelid = indrelid AND attnum = ANY(indkey) "
            "WHERE indrelid = to_regclass(%s) AND indisprimary",
            (self.place,),
        )
        return Existing(dict(columns), frozenset(name for (name,) in key))

    def create(self, columns: dict[str, str], key: Sequence[str]) -> str:
        parts = [f"{self.quoted(name)} {kind}" for name, kind in columns.items()]
        if key:
            parts.append(f"PRIMARY KEY ({', '.join(map(self.quoted, key))})")
        return f"CREATE TABLE {self.place} ({', '.join(parts)})"

    def load(self, into: str, columns: Sequence[str], chunks: Iterable[pa.RecordBatch]) -> int:
        names = ", ".join(map(self.quoted, columns))
        with self.connected.cursor() as cursor:
            with cursor.copy(f"COPY {into} ({names}) FROM STDIN (FORMAT csv)".encode()) as copy:
                for chunk in chunks:
                    copy.write(as_csv(chunk))
            return cursor.rowcount

    def stage(self, columns: Sequence[str]) -> None:
        names = ", ".join(map(self.quoted, columns))
        self.execute(
            f"CREATE TEMPORARY TABLE {STAGING} ON COMMIT DROP AS "
            f"SELECT {names} FROM {self.place} WITH NO DATA"
        )

    def merge(self, columns: Sequence[str], key: Sequence[str]) -> str:
        names, keys = (", ".join(map(self.quoted, some)) for some in (columns, key))
        others = [self.quoted(name) for name in columns if name not in key]
        return (
            f"INSERT INTO {self.place} ({names}) SELECT DISTINCT ON ({keys}) {names} "
            f"FROM {self.temporary} ORDER BY {keys}, {self.quoted(BATCH)} DESC "
            f"ON CONFLICT ({keys}) DO UPDATE SET "
            + ", ".join(f"{name} = EXCLUDED.{name}" for name in others)
        )


def as_csv(chunk: pa.RecordBatch) -> memoryview:
    """A chunk as COPY reads it: null is nothing, and everything else stands in quotes."""
    columns = [_as_text(column) for column in chunk.columns]
    buffer = io.BytesIO()
    csv.write_csv(
        pa.RecordBatch.from_arrays(columns, names=chunk.schema.names),
        buffer,
        csv.WriteOptions(include_header=False, quoting_style="all_valid"),
    )
    return buffer.getbuffer()


def _as_text(column: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        # Without its zone, which is UTC as the session's is: printed with one, it would need the
        # machine's database of time zones.
        return column.cast(pa.timestamp("us"))
    if pa.types.is_binary(column.type):
        return pa.array(None if v is None else "\\x" + v.hex() for v in column.to_pylist())
    return column
