"""A receiver of StatsD metrics on 127.0.0.1: the lines of ours that arrived."""

from __future__ import annotations

import socket
from contextlib import suppress
from threading import Thread
from typing import Self


class StatsdReceiver:
    """Listens as long as its `with` block runs.

    Args:
        port: A free one where not given.

    Attributes:
        lines: Lines such as `airflow.tidemill.refusals.feed.FeedOverdue:1|c`, in order.
    """

    def __init__(self, port: int = 0) -> None:
        self.lines: list[str] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", port))

    @property
    def settings(self) -> dict[str, str]:
        """The variables with which an Airflow sends its metrics here."""
        host, port = self._socket.getsockname()
        return {
            "AIRFLOW__METRICS__STATSD_ON": "True",
            "AIRFLOW__METRICS__STATSD_HOST": host,
            "AIRFLOW__METRICS__STATSD_PORT": str(port),
        }

    def gauge(self, name: str) -> float | None:
        """The last value of a gauge below `airflow.tidemill.`; None before one came."""
        start = f"airflow.tidemill.{name}:"
        found = [line.removeprefix(start) for line in self.lines if line.startswith(start)]
        return float(found[-1].partition("|")[0]) if found else None

    def __enter__(self) -> Self:
        Thread(target=self._receive, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        # The thread does not notice by itself that the socket is closed.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _receive(self) -> None:
        with suppress(OSError):
            while received := self._socket.recv(65_536):
                self.lines += [one for one in received.decode().split("\n") if ".tidemill." in one]
