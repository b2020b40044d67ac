"""A server that speaks AWS Glue: moto's own, which keeps its databases and tables in memory.

It takes any credentials. Unlike Glue, it ignores the version that a writer says it replaces.
"""

from __future__ import annotations

import socket
import sys
import tempfile
from pathlib import Path

from tests.servers.ports import free_ports
from tests.servers.server import Server


class Glue(Server):
    """A server; in a `with` statement it is up.

    Attributes:
        uri: Its address.
    """

    def __init__(self) -> None:
        (self.port,) = free_ports(1)
        self.uri = f"http://127.0.0.1:{self.port}"
        home = Path(tempfile.mkdtemp(prefix="tidemill-glue-"))
        code = "import sys; from moto.server import main; main(sys.argv[1:])"
        arguments = ["-H", "127.0.0.1", "-p", str(self.port)]
        super().__init__([sys.executable, "-c", code, *arguments], home)

    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5):
                return True
        except OSError:
            return False
