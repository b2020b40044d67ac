"""Rows sent to an HTTP server: an example of a target that keeps no head of its own.

    publish:
      - {kind: delta}
      - {kind: python, target: "http_events:HttpEvents", conn_id: receiver,
         options: {conn_id: receiver, path: /events}}

The connection's host is the server's address, its password a bearer token. Each event of the
journal is one or more POST requests of JSON lines, in order, each sent after the answer to the one
before. A request says in its headers which event and which part of it it is:

| header | is |
|---|---|
| `Idempotency-Key` | the same for the same part of the same event, for ever |
| `Tidemill-Kind` | `increment`, `reject` (no rows), `swap` or `replace` |
| `Tidemill-Event` | the event's number in the journal |
| `Tidemill-Part` | the number of this request within the event, from 0 |
| `Tidemill-Last` | `true` in an event's last request |
| `Tidemill-Partitions` | only of a swap: JSON of the partitions whose rows it takes the place of |

At least once: a request whose answer was lost is sent again with the same key, by the next try. The
server has each row once if it takes no key twice, and shows an event once its last part is there.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tidemill.contract.connections.airflow import Connection, connection
from tidemill.publish.encoding import json_objects
from tidemill.publish.target import Event, Payload, Refused, TargetUnreachable

TIMEOUT_SECONDS = 60
# Answers that a later try may turn into a success.
PASSING = {408, 425, 429, 500, 502, 503, 504}


class RowsRefused(Refused):
    """The server does not take the rows; carries `status`."""


class HttpEvents:
    """Sends each event as requests that the server can tell from their repetitions."""

    # The server is told what a swap takes the place of.
    swaps = True

    def __init__(
        self, options: Mapping[str, Any], *, pipeline: str, epoch: int, say: Callable[[str], None]
    ) -> None:
        self.pipeline = pipeline
        self.conn_id = str(options["conn_id"])
        self.path = str(options.get("path", "/"))

    def find(self, event: Event) -> int | None:
        """Unknown: the server drops what it has."""
        return None

    def apply(self, event: Event, payload: Payload) -> int:
        server = connection(self.conn_id)
        parts = _parts(payload)
        body, part = next(parts, b""), 0
        for following in parts:
            self._send(server, event, part, body, last=False)
            body, part = following, part + 1
        self._send(server, event, part, body, last=True)
        return event.seq

    def _send(
        self, server: Connection, event: Event, part: int, body: bytes, *, last: bool
    ) -> None:
        headers = {
            "Content-Type": "application/x-ndjson",
            "Idempotency-Key": f"{self.pipeline}/{event.seq}/{event.files_hash}/{part}",
            "Tidemill-Kind": event.kind,
            "Tidemill-Event": str(event.seq),
            "Tidemill-Part": str(part),
            "Tidemill-Last": str(last).lower(),
        }
        if event.kind == "swap" and event.recomputation is not None:
            partitions = event.recomputation.partitions
            headers["Tidemill-Partitions"] = partitions.model_dump_json() if partitions else "null"
        if server.password:
            headers["Authorization"] = f"Bearer {server.password.get_secret_value()}"
        request = urllib.request.Request(_address(server) + self.path, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
                answer.read()
        except urllib.error.HTTPError as error:
            if error.code not in PASSING:
                raise RowsRefused(
                    f"The server of '{self.conn_id}' refused event {event.seq}: {error.code}.",
                    remedy="See its log; the next run sends the event again.",
                    status=error.code,
                ) from None
            raise self._unreachable(server, error) from None
        except OSError as error:
            raise self._unreachable(server, error) from None

    def _unreachable(self, server: Connection, error: OSError) -> TargetUnreachable:
        return TargetUnreachable(
            f"The server of '{self.conn_id}' did not answer: {server.scrubbed(str(error))}",
            remedy="The next run sends the event again.",
            target=self.conn_id,
        )


def _parts(payload: Payload) -> Iterator[bytes]:
    """The bodies of an event's requests: the same each time that the event is offered."""
    for _, chunk in payload.read():
        lines = json_objects(chunk, payload.schema.names)
        yield "".join(f"{line}\n" for line in lines).encode()


def _address(server: Connection) -> str:
    host = server.host or ""
    host = host if "://" in host else f"https://{host}"
    return f"{host}:{server.port}" if server.port else host
