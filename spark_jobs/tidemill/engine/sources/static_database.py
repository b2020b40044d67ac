"""Static inputs from a database: the rows of one query, copied as Parquet."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql.pandas.types import to_arrow_schema

from tidemill.contract.connections import mariadb, postgres
from tidemill.contract.connections.airflow import Connection, connection
from tidemill.contract.content_hash import sha256_of
from tidemill.contract.errors import Refused, TransientError
from tidemill.engine.sources.columns import schema_of
from tidemill.ledger.static_pins import IDENTITY_LETTERS, StaticPin, pinned_file
from tidemill.spec.static_inputs import DatabaseStatic, PostgresStatic
from tidemill.storage.folders import draft_folder, put_folder

ROWS_AT_ONCE = 10_000
COPY = "rows.parquet"
FETCHED = "fetched"
# Locks, deadlocks, too many connections, in MariaDB.
BUSY = (1205, 1213, 1040)
Chunks = Iterator[Sequence[Sequence[Any]]]


class StaticUnreachable(TransientError):
    """The database of a static input does not answer; carries `static` and `conn_id`."""


class StaticQueryRefused(Refused):
    """The database refused a static input's query; carries `static` and `state`."""


class StaticUnfit(Refused):
    """A query's rows are not as the spec says; carries `static` and `columns`."""


def pin_query(name: str, static: DatabaseStatic, place: Path) -> StaticPin:
    """The rows of a query as they are now, copied.

    Raises:
        ConnectionMissing: the connection is not in the environment.
        StaticUnreachable: the database does not answer.
        StaticQueryRefused: it refuses the query.
        StaticUnfit: its rows are not as the spec says.
    """
    schema = to_arrow_schema(schema_of(static.schema_, f"statics.{name}.schema"), timezone="UTC")
    database = connection(static.conn_id, os.environ)
    read = _of_postgres if isinstance(static, PostgresStatic) else _of_mariadb
    rows = 0

    def write(draft: Path) -> None:
        nonlocal rows
        copy = draft / COPY
        with read(name, static, database) as chunks, parquet.ParquetWriter(copy, schema) as file:
            for chunk in chunks:
                file.write_batch(_as_arrow(name, chunk, schema))
                rows += len(chunk)

    with draft_folder(place, FETCHED) as draft:
        write(draft)
        # Under its content's name, so that rows which did not change are kept once.
        identity = sha256_of(draft / COPY)[:IDENTITY_LETTERS]
        folder = place / identity
        if not (folder.is_dir() and sha256_of(folder / COPY)[:IDENTITY_LETTERS] == identity):
            put_folder(draft, folder)
    return StaticPin(
        kind=static.kind, identity=identity, files=(pinned_file(folder / COPY, folder),), rows=rows
    )


def _as_arrow(name: str, rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.RecordBatch:
    columns = [*zip(*rows, strict=True)]
    if len(columns) != len(schema.names):
        raise StaticUnfit(
            f"statics.{name}: the query gives {len(columns)} columns, and statics.{name}.schema "
            f"has {len(schema.names)}.",
            remedy="Name the query's columns in the schema, in its order.",
            static=name,
            columns=schema.names,
        )
    arrays = []
    for field, values in zip(schema, columns, strict=True):
        try:
            arrays.append(pa.array(values, type=field.type))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            # Without its text, which quotes a row.
            raise StaticUnfit(
                f"statics.{name}: column '{field.name}' has a value that is not a {field.type}.",
                remedy="Correct its type in the schema, or cast it in the query.",
                static=name,
                columns=[field.name],
            ) from None
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@contextmanager
def _of_postgres(name: str, static: DatabaseStatic, database: Connection) -> Iterator[Chunks]:
    import psycopg

    try:
        with closing(
            psycopg.connect(**postgres.psycopg_arguments(database), application_name="tidemill")
        ) as connected:
            connected.read_only = True
            connected.execute("SET LOCAL TIME ZONE 'UTC'")
            # On the server's side, so that this process never holds all rows.
            with connected.cursor(name="tidemill_static") as cursor:
                cursor.execute(static.query.encode())
                yield _chunks(cursor)
    except psycopg.Error as error:
        # The primary message alone: the detail quotes rows.
        message = database.scrubbed(error.diag.message_primary or str(error))
        state = error.sqlstate
        gone = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        if gone and (state is None or state.startswith(postgres.UNREACHABLE)):
            raise _unreachable(name, static, message) from None
        raise _refused(name, message, state) from None


@contextmanager
def _of_mariadb(name: str, static: DatabaseStatic, database: Connection) -> Iterator[Chunks]:
    import pymysql
    from pymysql.cursors import SSCursor

    try:
        with (
            closing(
                pymysql.connect(
                    **mariadb.pymysql_arguments(database),
                    charset="utf8mb4",
                    program_name="tidemill",
                    local_infile=False,
                    cursorclass=SSCursor,
                )
            ) as connected,
            connected.cursor() as cursor,
        ):
            cursor.execute("SET SESSION time_zone = '+00:00'")
            cursor.execute("START TRANSACTION READ ONLY")
            cursor.execute(static.query)
            yield _chunks(cursor)
    except (pymysql.Error, OSError) as error:
        message = database.scrubbed(str(error.args[-1] if error.args else error))
        code = error.args[0] if error.args else None
        gone = isinstance(error, OSError | pymysql.InterfaceError)
        if gone or code in mariadb.UNREACHABLE or code in BUSY:
            raise _unreachable(name, static, message) from None
        raise _refused(name, message, code) from None


def _chunks(cursor: Any) -> Chunks:
    while rows := cursor.fetchmany(ROWS_AT_ONCE):
        yield rows


def _unreachable(name: str, static: DatabaseStatic, message: str) -> StaticUnreachable:
    return StaticUnreachable(
        f"statics.{name}: {static.kind} cannot be read: {message}",
        remedy=f"The next try asks it again; check the server and the connection {static.conn_id}.",
        static=name,
        conn_id=static.conn_id,
    )


def _refused(name: str, message: str, state: object) -> StaticQueryRefused:
    return StaticQueryRefused(
        f"statics.{name}: the database refused the query: {message}",
        remedy="Fix the query, or the rights of the connection's user.",
        static=name,
        state=state,
    )
