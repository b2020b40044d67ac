"""A proxy before a server that speaks HTTP: it passes requests on, or fails as networks do."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Literal
from urllib.parse import urlsplit

# What becomes of a request: `busy` is an answer 503, `broken` an answer 500, `cut` the first half
# of the real answer, `lost` no answer to a request that was done.
Fault = Literal["busy", "broken", "cut", "lost"]


@dataclass
class FlakyHttp:
    """A proxy on a port of its own.

    Args:
        server: The address of the server.
        fault: Number of a request, from 0 -> what becomes of it; None passes it on.
        requests: How many came.
    """

    server: str
    fault: Callable[[int], Fault | None]
    requests: int = 0
    endpoint: str = field(default="", init=False)

    @contextmanager
    def up(self) -> Iterator[FlakyHttp]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                number, proxy.requests = proxy.requests, proxy.requests + 1
                _answer(self, proxy.server, proxy.fault(number))

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
            listener.daemon_threads = True
            self.endpoint = f"http://127.0.0.1:{listener.server_port}"
            Thread(target=listener.serve_forever, daemon=True).start()
            try:
                yield self
            finally:
                listener.shutdown()


def _answer(request: BaseHTTPRequestHandler, server: str, fault: Fault | None) -> None:
    if fault in ("busy", "broken"):
        request.send_response(503 if fault == "busy" else 500)
        request.send_header("Content-Length", "0")
        request.end_headers()
        return
    real = http.client.HTTPConnection(urlsplit(server).netloc)
    # Signed together with the rest, so that the server must see what the client has sent.
    real.putrequest("GET", request.path, skip_host=True, skip_accept_encoding=True)
    for name, value in request.headers.items():
        real.putheader(name, value)
    real.endheaders()
    answer = real.getresponse()
    body = answer.read()
    real.close()
    if fault == "lost":
        request.close_connection = True
        return
    request.send_response(answer.status)
    for name, value in answer.getheaders():
        if name.lower() not in ("transfer-encoding", "content-length", "connection"):
            request.send_header(name, value)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body[: len(body) // 2] if fault == "cut" else body)
    request.close_connection = fault == "cut"
