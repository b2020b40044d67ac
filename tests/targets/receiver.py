"""An HTTP server that takes rows as `spark_jobs/targets/http_events.py` sends them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Literal

# `lost`: the request is taken and its answer does not come. `busy`, `refused`: it is not taken.
Fault = Literal["lost", "busy", "refused"]
STATUS = {"busy": 503, "refused": 422}


@dataclass
class Receiver:
    """What a server holds that takes no key twice and shows whole events.

    Attributes:
        faults: What becomes of the next requests, in order; the others are answered.
        requests: The headers of each request that was taken or dropped as a repetition.
        events: The rows and the kind of each whole event, in order.
    """

    faults: list[Fault | None] = field(default_factory=list)
    requests: list[dict[str, str]] = field(default_factory=list)
    events: list[tuple[str, list[dict[str, Any]]]] = field(default_factory=list)
    port: int = 0
    _keys: set[str] = field(default_factory=set)
    _parts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def connection(self) -> str:
        """The server as an Airflow connection."""
        given = {"conn_type": "http", "host": "http://127.0.0.1", "port": self.port}
        return json.dumps({**given, "password": "hush-hush"})

    def ids(self) -> list[int]:
        """The ids of all rows after every event, swaps of partitions aside."""
        found: list[int] = []
        for kind, rows in self.events:
            kept = [] if kind == "replace" else found
            found = [*kept, *(int(row["id"]) for row in rows)]
        return found

    def take(self, headers: dict[str, str], body: bytes) -> None:
        self.requests.append(headers)
        if headers["Idempotency-Key"] in self._keys:
            return
        self._keys.add(headers["Idempotency-Key"])
        self._parts += [json.loads(line) for line in body.splitlines()]
        if headers["Tidemill-Last"] == "true":
            self.events.append((headers["Tidemill-Kind"], self._parts))
            self._parts = []

    @contextmanager
    def up(self) -> Iterator[Receiver]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                fault = receiver.faults.pop(0) if receiver.faults else None
                if self.headers["Authorization"] != "Bearer hush-hush":
                    self.send_error(401)
                    return
                if fault in STATUS:
                    self.send_error(STATUS[fault])
                    return
                receiver.take(dict(self.headers), body)
                if fault != "lost":
                    self.send_response(204)
                    self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
            listener.daemon_threads = True
            self.port = listener.server_port
            Thread(target=listener.serve_forever, daemon=True).start()
            try:
                yield self
            finally:
                listener.shutdown()
