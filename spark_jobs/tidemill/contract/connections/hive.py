"""An Airflow connection of a Hive metastore."""

from dataclasses import dataclass

from tidemill.contract.connections.airflow import Connection
from tidemill.contract.errors import UsageError

PORT = 9083
# What Airflow's own Hive provider calls it, in a connection's extra; and the one way to log in.
MECHANISMS = ("authMechanism", "auth_mechanism")
WITHOUT_LOGIN = "NOSASL"


class MetastoreConnectionUnfit(UsageError):
    """A connection of a Hive metastore has no host, or asks for SASL; carries `conn_id`."""


@dataclass(frozen=True)
class Metastore:
    """Where a metastore is.

    Args:
        user: The owner of new tables; None: the user of this process.
    """

    host: str
    port: int
    user: str | None


def metastore_of(connection: Connection, conn_id: str) -> Metastore:
    """The metastore of a connection.

    Raises:
        MetastoreConnectionUnfit: it lacks a host, or wants a login that we cannot give.
    """
    if not connection.host:
        raise MetastoreConnectionUnfit(
            f"Connection '{conn_id}' has no host.",
            remedy="Give it the host and port of the metastore's Thrift service.",
            conn_id=conn_id,
        )
    for key in MECHANISMS:
        if str(connection.settings.get(key, WITHOUT_LOGIN)).upper() != WITHOUT_LOGIN:
            raise MetastoreConnectionUnfit(
                f"Connection '{conn_id}' asks for {key}, and Tidemill does not log in to a Hive "
                "metastore.",
                remedy=f"Name a metastore without SASL, and remove {key}; or leave `catalog` out.",
                conn_id=conn_id,
            )
    return Metastore(connection.host, connection.port or PORT, connection.login)
