"""Free ports on 127.0.0.1."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack

# Below what systems give to clients: a server that is down for a while finds its port free again.
LOWEST, HIGHEST = 15_000, 32_000


def free_ports(count: int) -> list[int]:
    """Distinct ports without listeners."""
    found: list[int] = []
    with ExitStack() as held:
        while len(found) < count:
            probe = held.enter_context(socket.socket())
            port = random.randrange(LOWEST, HIGHEST)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
    return found


def is_taken(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
