"""PostgreSQL as a target: rows in one transaction with the head row."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors

from tidemill.contract.connections.airflow import Connection, connection
from tidemill.contract.connections.postgres import UNREACHABLE, psycopg_arguments
from tidemill.contract.errors import UsageError
from tidemill.publish.database.errors import busy, refused, unreachable
from tidemill.publish.database.postgres_session import PostgresSession
from tidemill.publish.database.session import Session
from tidemill.publish.database.storable import Storable
from tidemill.publish.database.target import DatabaseTarget

# Somebody else was faster, or is at it: the same may work when tried again.
BUSY = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.LockNotAvailable,
    errors.QueryCanceled,
    errors.TooManyConnections,
)


class PostgresTarget(DatabaseTarget):
    """A table in PostgreSQL."""

    @contextmanager
    def session(self) -> Iterator[Session]:
        given = connection(self.given.conn_id)
        storable = Storable(self.given.unstorable, nul=False, early_years=False)
        with ours(self.name, given):
            connected = psycopg.connect(
                **psycopg_arguments(given),
                application_name="tidemill",
                client_encoding="UTF8",
                autocommit=True,
                # Poolers between us and the server do not know whose statement was prepared.
                prepare_threshold=None,
            )
            try:
                schema = self.given.schema_ or _current_schema(connected)
                yield PostgresSession(connected, schema, self.given.table, storable)
            finally:
                connected.close()


def _current_schema(connected: psycopg.Connection[Any]) -> str:
    found = connected.execute("SELECT current_schema()").fetchone()
    if found is None or found[0] is None:
        raise UsageError(
            "The PostgreSQL connection's search_path has no schema that exists.",
            remedy="Name the target's `schema`.",
        )
    return str(found[0])


@contextmanager
def ours(target: str, given: Connection) -> Iterator[None]:
    """Turn errors of the driver into ours, without secrets in text or cause."""
    try:
        yield
    except BUSY as error:
        raise busy(target, _said(error, given), error.sqlstate) from None
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        if error.sqlstate is not None and not error.sqlstate.startswith(UNREACHABLE):
            raise refused(target, _said(error, given), error.sqlstate) from None
        raise unreachable(target, _said(error, given)) from None
    except psycopg.Error as error:
        raise refused(target, _said(error, given), error.sqlstate) from None


def _said(error: psycopg.Error, given: Connection) -> str:
    # The primary message alone: the detail quotes rows.
    return given.scrubbed(error.diag.message_primary or str(error))
