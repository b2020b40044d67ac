"""A proxy before an S3 server, in a process of its own, that lets one write go wrong.

It kills the client before or after the server has done what it asked for, keeps its answer back,
passes it on much later, or fails in its own name. Only writes are counted.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from threading import Event, Lock, Thread
from typing import Any

from tests.servers.flaky_http import answer, content_of

WRITES = ("PUT", "POST", "DELETE")
# Whoever starts it may have threads.
SPAWN = multiprocessing.get_context("spawn")


class StoreFault(Enum):
    """What becomes of a write."""

    COUNT = "count"
    # The client is killed; the store has not heard of the write, or has done it.
    KILL = "kill"
    KILL_AFTER = "kill-after"
    # The client is killed, and the write arrives when others have gone on.
    LATE = "late"
    # It is done, and its answer never comes.
    LOST = "lost"
    # The store fails, or asks for patience.
    BROKEN = "broken"
    BUSY = "busy"
    # From this one on nothing is allowed any more.
    FORBIDDEN = "forbidden"

    @property
    def title(self) -> str:
        return self.value


@dataclass
class FaultyStore:
    """The proxy, seen from the processes that play a case.

    Args:
        server: The address of the S3 server.
    """

    server: str
    endpoint: str = field(default="", init=False)
    _control: Any = field(default=None, init=False)

    @contextmanager
    def up(self) -> Iterator[FaultyStore]:
        ours, theirs = SPAWN.Pipe()
        process = SPAWN.Process(target=_serve, args=(self.server, theirs), daemon=True)
        process.start()
        self._control = ours
        self.endpoint = ours.recv()
        try:
            yield self
        finally:
            process.kill()
            process.join()

    @contextmanager
    def armed(
        self, call: int, fault: StoreFault, name: str = "", process: int = 0
    ) -> Iterator[None]:
        """Let a write go wrong while the block runs.

        Args:
            call: Its number among those that count, from 1.
            fault: What becomes of it; with `COUNT` all are only counted.
            name: What the path of a write must hold to count.
            process: Whom a fault kills, this process by default; below 0 a group.
        """
        self._ask("arm", call, fault, name, process or os.getpid())
        try:
            yield
        finally:
            self._ask("disarm")

    def calls(self) -> list[str]:
        """The writes since it was armed, or only the one that went wrong."""
        found: list[str] = self._ask("calls")
        return found

    def deliver(self) -> None:
        """Let a write that is late arrive, and wait until the server has done it."""
        self._ask("deliver")

    def _ask(self, *words: Any) -> Any:
        self._control.send(words)
        return self._control.recv()


class _Plan:
    """Which write goes wrong, and what came."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.arm(0, StoreFault.COUNT, "", 0)
        self.disarm()

    def arm(self, call: int, fault: StoreFault, name: str, pid: int) -> None:
        self.call, self.fault, self.name, self.pid = call, fault, name, pid
        self.calls: list[str] = []
        self.is_armed = True
        self.hit: str | None = None
        self.may_arrive, self.arrived = Event(), Event()

    def disarm(self) -> None:
        self.is_armed = False

    def said(self) -> list[str]:
        # Whoever was killed could not disarm it.
        self.disarm()
        if self.fault is StoreFault.COUNT:
            return self.calls
        return [] if self.hit is None else [self.hit]

    def deliver(self) -> None:
        self.may_arrive.set()
        if self.hit is not None and self.fault is StoreFault.LATE:
            assert self.arrived.wait(60)

    def fault_of(self, name: str) -> StoreFault | None:
        """What is to become of a write that has come; None: it is passed on."""
        with self.lock:
            if not self.is_armed or self.name not in name:
                return None
            self.calls.append(name)
            if self.fault is StoreFault.COUNT or len(self.calls) < self.call:
                return None
            if len(self.calls) > self.call and self.fault is not StoreFault.FORBIDDEN:
                return None
            self.hit = self.hit or name
            return self.fault


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing of a client that was killed."""


def _serve(server: str, control: Connection) -> None:
    plan = _Plan()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            sent = content_of(self)
            fault = plan.fault_of(f"{self.command} {self.path}") if self.command in WRITES else None
            if fault in (None, StoreFault.COUNT):
                answer(self, server, sent, None)
            elif fault in (StoreFault.KILL, StoreFault.KILL_AFTER, StoreFault.LATE):
                self.close_connection = True
                if fault is StoreFault.KILL_AFTER:
                    answer(self, server, sent, "lost")
                may_arrive, arrived = plan.may_arrive, plan.arrived
                os.kill(plan.pid, signal.SIGKILL)
                if fault is StoreFault.LATE:
                    may_arrive.wait()
                    answer(self, server, sent, "lost")
                    arrived.set()
            else:
                answer(self, server, sent, fault.value)

        do_HEAD = do_POST = do_PUT = do_DELETE = do_GET

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    listener = _Listener(("127.0.0.1", 0), Handler)
    Thread(target=listener.serve_forever, daemon=True).start()
    control.send(f"http://127.0.0.1:{listener.server_port}")
    while True:
        word, *given = control.recv()
        does = {"arm": plan.arm, "disarm": plan.disarm, "calls": plan.said, "deliver": plan.deliver}
        control.send(does[word](*given))
