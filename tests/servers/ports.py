"""Free ports on 127.0.0.1, each for one process of tests."""

from __future__ import annotations

import fcntl
import random
import socket
import tempfile
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path

# Below what systems give to clients: a server that is down for a while finds its port free again.
LOWEST, HIGHEST = 15_000, 32_000


# Locked for as long as this process lives: a server may take seconds until it listens.
_reserved: list[TextIOWrapper] = []


def free_ports(count: int) -> list[int]:
    """Distinct ports without listeners, that no other process of tests was given."""
    found: list[int] = []
    with ExitStack() as held:
        while len(found) < count:
            probe = held.enter_context(socket.socket())
            port = random.randrange(LOWEST, HIGHEST)
            try:
                probe.bind(("127.0.0.1", port))
                _reserve(port)
            except OSError:
                continue
            found.append(port)
    return found


def _reserve(port: int) -> None:
    """Lock a port among processes of tests.

    Raises:
        OSError: another one has it.
    """
    folder = Path(tempfile.gettempdir()) / "tidemill-test-ports"
    folder.mkdir(exist_ok=True)
    lock = (folder / str(port)).open("w")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    _reserved.append(lock)


def is_taken(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
