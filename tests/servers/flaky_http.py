"""A proxy before a server that speaks HTTP: it passes requests on, or fails as networks do."""

from __future__ import annotations

import http.client
import re
import select
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Thread
from typing import Literal
from urllib.parse import urlsplit

# What becomes of a request: `busy` is an answer 503, `broken` an answer 500, `cut` the first half
# of the real answer, `lost` no answer to a request that was done, `slow` none before the client
# has given up waiting for it, `forbidden` an answer 403,
# `careless` the answer of a server that ignores the headers If-Match and If-None-Match, `versioned`
# that of one which keeps older versions of objects.
Fault = Literal["busy", "broken", "cut", "lost", "slow", "forbidden", "careless", "versioned"]
SPAWN = get_context("spawn")
CONDITIONS = ("if-match", "if-none-match")
STATUS = {"busy": 503, "broken": 500, "forbidden": 403}
# An object in a listing of S3's.
LISTED = re.compile(rb"<Contents>.*?<Key>(.*?)</Key>.*?</Contents>", re.DOTALL)
LONGEST_PATIENCE_SECONDS = 120


@dataclass
class FlakyHttp:
    """A proxy on a port of its own.

    Args:
        server: The address of the server.
        fault: Number of a request, from 0 -> what becomes of it; None passes it on.
        methods: Those of HTTP to which this happens; others are passed on and do not count.
        path: What the path of a request holds to which this happens, likewise.
        requests: How many came.
        unlisted: Patterns of the keys that listings of a bucket leave out, as those of a store
            do that lists what was written only later.
    """

    server: str
    fault: Callable[[int], Fault | None]
    methods: Collection[str] = ("GET",)
    path: str = ""
    requests: int = 0
    unlisted: set[str] = field(default_factory=set)
    endpoint: str = field(default="", init=False)

    @contextmanager
    def up(self) -> Iterator[FlakyHttp]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.command not in proxy.methods or proxy.path not in self.path:
                    answer(self, proxy.server, content_of(self), None)
                    return
                number, proxy.requests = proxy.requests, proxy.requests + 1
                answer(self, proxy.server, content_of(self), proxy.fault(number), proxy.unlisted)

            do_HEAD = do_POST = do_PUT = do_DELETE = do_GET

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

    @contextmanager
    def up_apart(self) -> Iterator[FlakyHttp]:
        """As `up`, in a process of its own; `fault` is a function of a module.

        While some functions of delta-rs ask a store, no other thread of their process runs.
        """
        ours, theirs = SPAWN.Pipe()
        process = SPAWN.Process(target=_serve, args=(self, theirs), daemon=True)
        process.start()
        self.endpoint = ours.recv()
        try:
            yield self
        finally:
            ours.send("end")
            self.requests = ours.recv()
            process.join()


def _serve(proxy: FlakyHttp, control: Connection) -> None:
    with proxy.up():
        control.send(proxy.endpoint)
        control.recv()
        control.send(proxy.requests)


def content_of(request: BaseHTTPRequestHandler) -> bytes:
    """What the client has sent; read once."""
    return request.rfile.read(int(request.headers.get("Content-Length", 0)))


def answer(
    request: BaseHTTPRequestHandler,
    server: str,
    sent: bytes,
    fault: Fault | None,
    unlisted: Collection[str] = (),
) -> None:
    """Pass a request on and answer it, or let that fail.

    Args:
        server: The address of the server.
        sent: The content of the request.
        unlisted: Patterns of keys that a listing leaves out.
    """
    if fault in STATUS:
        request.send_response(STATUS[fault])
        request.send_header("Content-Length", "0")
        request.end_headers()
        return
    real = http.client.HTTPConnection(urlsplit(server).netloc)
    # Signed together with the rest, so that the server must see what the client has sent.
    real.putrequest(request.command, request.path, skip_host=True, skip_accept_encoding=True)
    for name, value in request.headers.items():
        if fault != "careless" or name.lower() not in CONDITIONS:
            real.putheader(name, value)
    real.endheaders(sent or None)
    reply = real.getresponse()
    body = LISTED.sub(lambda found: _named(found, unlisted), reply.read())
    real.close()
    if fault == "slow":
        # The connection can be read from once its other end is closed.
        select.select([request.connection], [], [], LONGEST_PATIENCE_SECONDS)
    if fault in ("lost", "slow"):
        request.close_connection = True
        return
    request.send_response(reply.status)
    for name, value in reply.getheaders():
        if name.lower() not in ("transfer-encoding", "content-length", "connection"):
            request.send_header(name, value)
    if fault == "versioned":
        request.send_header("x-amz-version-id", "1")
    length = str(len(body))
    if request.command == "HEAD":
        length = reply.headers.get("Content-Length", "0")
    if reply.status != HTTPStatus.NO_CONTENT:
        request.send_header("Content-Length", length)
    request.end_headers()
    request.wfile.write(body[: len(body) // 2] if fault == "cut" else body)
    request.close_connection = fault == "cut"


def _named(listed: re.Match[bytes], unlisted: Collection[str]) -> bytes:
    key = listed[1].decode()
    return b"" if any(fnmatchcase(key, one) for one in unlisted) else listed[0]
