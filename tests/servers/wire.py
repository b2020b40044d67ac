"""A wire that keeps what goes over it, from one address of this machine to another."""

from __future__ import annotations

import socket
import socketserver
from contextlib import suppress
from threading import Thread
from typing import Self

# Whoever listens at a port of the far end is also reached by the same port of the near one.
NEAR, FAR = "127.0.0.2", "127.0.0.1"


class Wire(socketserver.ThreadingTCPServer):
    """In a `with` statement it is up.

    Args:
        port: The same at both ends.

    Attributes:
        carried: What went over it, for each connection and direction.
    """

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__((NEAR, port), _Connection)
        self.carried: list[bytearray] = []

    def __enter__(self) -> Self:
        Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Connection(socketserver.BaseRequestHandler):
    server: Wire

    def handle(self) -> None:
        with socket.create_connection((FAR, self.server.server_address[1])) as far:
            back = Thread(target=self._carry, args=(far, self.request), daemon=True)
            back.start()
            self._carry(self.request, far)
            back.join()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        kept = bytearray()
        self.server.carried.append(kept)
        with suppress(OSError):
            while data := source.recv(1 << 16):
                kept += data
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
