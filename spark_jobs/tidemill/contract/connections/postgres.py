"""A PostgreSQL connection of Airflow's, as libpq and psycopg take it."""

from typing import Any

from tidemill.contract.connections.airflow import Connection
from tidemill.contract.errors import UsageError

CONNECT_SECONDS = 5
# What libpq takes from a connection's extra; the rest of its settings are the connection's fields.
EXTRAS = frozenset(
    {
        "channel_binding",
        "connect_timeout",
        "gssencmode",
        "gsslib",
        "keepalives",
        "keepalives_count",
        "keepalives_idle",
        "keepalives_interval",
        "krbsrvname",
        "load_balance_hosts",
        "options",
        "require_auth",
        "ssl_max_protocol_version",
        "ssl_min_protocol_version",
        "sslcert",
        "sslcrl",
        "sslcrldir",
        "sslkey",
        "sslmode",
        "sslnegotiation",
        "sslpassword",
        "sslrootcert",
        "sslsni",
        "target_session_attrs",
        "tcp_user_timeout",
    }
)

# SQLSTATE classes of errors: connection, shutdown, login, no such database.
UNREACHABLE = ("08", "57", "28", "3D")


class PostgresSettingRefused(UsageError):
    """A PostgreSQL connection has an unknown setting; carries `key`, no value."""


def psycopg_arguments(connection: Connection) -> dict[str, Any]:
    """A connection for `psycopg.connect`.

    Args:
        connection: Its `schema` is the database, as everywhere in Airflow; its extra holds
            settings under libpq's names.

    Raises:
        PostgresSettingRefused: one of them is unknown to libpq.
    """
    given = connection.client_arguments(EXTRAS, "dbname", PostgresSettingRefused, "PostgreSQL")
    return {"connect_timeout": CONNECT_SECONDS, **given}
