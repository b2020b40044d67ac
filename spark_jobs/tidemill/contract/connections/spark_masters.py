"""The masters of a standalone cluster: whether one of them answers, asked before a JVM starts.

A driver asks three times, for a minute in all, and ends in words that name no connection.
"""

import socket
from urllib.parse import urlsplit

from tidemill.contract.connections.spark import STANDALONE
from tidemill.contract.errors import TransientError, UsageError

PORT = 7077
# Seconds for each of them.
PATIENCE = 5.0


class MastersUnreachable(TransientError):
    """No master of a standalone cluster answers; carries `masters` and `conn_id`."""


class DriverRefused(UsageError):
    """No master lets the driver in; carries `masters`, with what each one says, and `conn_id`."""


def verify_masters(master: str, conn_id: str) -> None:
    """Prove that a master answers, where the URL is one of a standalone cluster.

    Args:
        master: The URL; with standby masters it names several.

    Raises:
        MastersUnreachable: none does.
    """
    if not master.startswith(STANDALONE):
        return
    failures = {}
    for place in master.removeprefix(STANDALONE).split(","):
        address = urlsplit(f"//{place}")
        try:
            server = address.hostname or "", address.port or PORT
            with socket.create_connection(server, timeout=PATIENCE):
                return
        except (OSError, ValueError) as error:
            failures[place] = str(error)
    said = "; ".join(f"{place}: {why}" for place, why in failures.items())
    raise MastersUnreachable(
        f"No Spark master of connection '{conn_id}' answers ({said}).",
        remedy="Start it, or correct the connection's host and port; the next try carries on.",
        masters=list(failures),
        conn_id=conn_id,
    )
