"""A MariaDB or MySQL connection of Airflow's, as PyMySQL takes it."""

from typing import Any

from tidemill.contract.connections.airflow import Connection
from tidemill.contract.errors import UsageError

CONNECT_SECONDS = 5
# A statement that moves many rows takes its time; a server that is gone must not take for ever.
STATEMENT_SECONDS = 3600
# What PyMySQL takes from a connection's extra. `local_infile` is not among them: it lets the server
# read any file of the client's.
EXTRAS = frozenset(
    {
        "connect_timeout",
        "read_timeout",
        "server_public_key",
        "ssl",
        "ssl_ca",
        "ssl_cert",
        "ssl_disabled",
        "ssl_key",
        "ssl_key_password",
        "ssl_verify_cert",
        "ssl_verify_identity",
        "unix_socket",
        "write_timeout",
    }
)

# Codes of errors: cannot connect, gone away, lost; not allowed in, no such database. The last two
# are MariaDB's and MySQL's own for a connection that the server ended.
UNREACHABLE = (2002, 2003, 2006, 2013, 2055, 1044, 1045, 1049, 1053, 1130, 1927, 4031)


class MariaDbSettingRefused(UsageError):
    """A MariaDB connection has an unknown setting; carries `key`, no value."""


def pymysql_arguments(connection: Connection) -> dict[str, Any]:
    """A connection for `pymysql.connect`.

    Args:
        connection: Its `schema` is the database; its extra holds settings under PyMySQL's names.

    Raises:
        MariaDbSettingRefused: one of them is unknown to PyMySQL, or opens the client to the server.
    """
    given = connection.client_arguments(EXTRAS, "database", MariaDbSettingRefused, "MariaDB")
    patience = {
        "connect_timeout": CONNECT_SECONDS,
        "read_timeout": STATEMENT_SECONDS,
        "write_timeout": STATEMENT_SECONDS,
    }
    return {**patience, **given}
