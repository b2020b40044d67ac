"""MariaDB or MySQL as a target: rows in one transaction with the head row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pymysql

from spark_jobs.contract.connection import Connection, connection
from spark_jobs.contract.errors import UsageError
from spark_jobs.contract.mariadb_connection import pymysql_arguments
from spark_jobs.publish.database_errors import busy, refused, scrubbed, unreachable
from spark_jobs.publish.database_target import DatabaseTarget
from spark_jobs.publish.mariadb_session import MariaDbSession
from spark_jobs.publish.session import Session
from spark_jobs.publish.storable import Storable

# What does not fit is an error, and not cut off.
STRICT = (
    "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
    "NO_ENGINE_SUBSTITUTION"
)
# Locks, deadlocks, too many connections.
BUSY = (1205, 1213, 1040, 1203, 1226)
# Cannot connect, gone away, lost; not allowed in, no such database: a person mends these elsewhere.
UNREACHABLE = (2002, 2003, 2006, 2013, 2055, 1044, 1045, 1049, 1053, 1130, 1927)


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
        storable = Storable(self.given.unstorable, not_finite=False, any_year=False)
        with ours(self.name, given):
            connected = pymysql.connect(
                **pymysql_arguments(given),
                charset="utf8mb4",
                sql_mode=STRICT,
                program_name="tidemill",
                local_infile=False,
                autocommit=True,
            )
            try:
                yield MariaDbSession(connected, database, self.given.table, storable)
            finally:
                # It says so if the server closed it first.
                with suppress(pymysql.Error):
                    connected.close()


@contextmanager
def ours(target: str, given: Connection) -> Iterator[None]:
    """Turn errors of the driver into ours, without secrets in text or cause."""
    try:
        yield
    except (pymysql.Error, OSError) as error:
        code = error.args[0] if error.args else None
        said = scrubbed(str(error.args[-1] if error.args else error), given)
        if code in BUSY:
            raise busy(target, said, code) from None
        if code in UNREACHABLE or isinstance(error, OSError | pymysql.InterfaceError):
            raise unreachable(target, said) from None
        raise refused(target, said, code) from None
