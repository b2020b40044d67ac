"""MariaDB or MySQL as a target: rows in one transaction with the head row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pymysql
from pymysql.cursors import Cursor

from tidemill.contract.connections.airflow import Connection, connection
from tidemill.contract.connections.mariadb import UNREACHABLE, pymysql_arguments
from tidemill.contract.errors import UsageError
from tidemill.publish.database.errors import busy, refused, unreachable
from tidemill.publish.database.mariadb_session import MariaDbSession
from tidemill.publish.database.session import Session
from tidemill.publish.database.storable import Storable
from tidemill.publish.database.target import DatabaseTarget

# What does not fit is an error, and not cut off.
STRICT = (
    "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
    "NO_ENGINE_SUBSTITUTION"
)
# In "Duplicate entry 'x' for key 'y'", "Incorrect date value: 'x' for column": it is a row's.
QUOTED_VALUE = re.compile(r"(entry|value:?) '.*'(?= for )", re.DOTALL)
# Locks, deadlocks, too many connections.
BUSY = (1205, 1213, 1040, 1203, 1226)


class MariaDbTarget(DatabaseTarget):
    """A table in MariaDB or MySQL."""

    @contextmanager
    def session(self) -> Iterator[Session]:
        given = connection(self.given.conn_id)
        database = self.given.schema_ or given.schema_
        if database is None:
            raise UsageError(
                f"{self.name}: neither the target nor its connection names a database.",
                remedy="Name the target's `schema`.",
                target=self.name,
            )
        storable = Storable(
            self.given.unstorable, not_finite=False, far_years=False, early_years=False
        )
        with ours(self.name, given):
            connected = _connect(pymysql_arguments(given))
            try:
                yield MariaDbSession(connected, database, self.given.table, storable)
            finally:
                # It says so if the server closed it first.
                with suppress(pymysql.Error):
                    connected.close()


def _connect(arguments: dict[str, Any]) -> pymysql.Connection[Cursor]:
    # PyMySQL waits for the server's greeting as long as for any statement. A server that accepts a
    # connection and says nothing would hold us up for an hour.
    greeting = {**arguments, "read_timeout": arguments["connect_timeout"]}
    connected = pymysql.connect(
        **greeting,
        charset="utf8mb4",
        sql_mode=STRICT,
        program_name="tidemill",
        local_infile=False,
        autocommit=True,
    )
    connected._read_timeout = arguments["read_timeout"]  # type: ignore[attr-defined]
    return connected


@contextmanager
def ours(target: str, given: Connection) -> Iterator[None]:
    """Turn errors of the driver into ours, without secrets in text or cause."""
    try:
        yield
    except (pymysql.Error, OSError) as error:
        code = error.args[0] if error.args else None
        said = QUOTED_VALUE.sub(r"\1 …", str(error.args[-1] if error.args else error))
        said = given.scrubbed(said)
        if code in BUSY:
            raise busy(target, said, code) from None
        if code in UNREACHABLE or isinstance(error, OSError | pymysql.InterfaceError):
            raise unreachable(target, said) from None
        raise refused(target, said, code) from None
