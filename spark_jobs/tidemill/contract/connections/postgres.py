"""A PostgreSQL connection of Airflow's, as libpq and psycopg take it."""

from __future__ import annotations

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
    for key in connection.settings:
        if key not in EXTRAS:
            raise PostgresSettingRefused(
                f"The PostgreSQL connection's extra has '{key}', which libpq does not take.",
                remedy=f"Remove it; known are {', '.join(sorted(EXTRAS))}.",
                key=key,
            )
    password = connection.password
    fields = {
        "host": connection.host,
        "port": connection.port,
        "user": connection.login,
        "password": password.get_secret_value() if password else None,
        "dbname": connection.schema_,
    }
    given = {name: value for name, value in fields.items() if value is not None}
    return {"connect_timeout": CONNECT_SECONDS, **connection.settings, **given}
