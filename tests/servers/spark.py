"""Spark standalone: one master and its workers, each a plain Java process on 127.0.0.1."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import httpx

from tests.servers.ports import free_ports
from tests.servers.server import PATIENCE, Server
from tests.support.processes import wait_for
from tidemill.toolchain.java import java_home

SPARK_CLASS = Path(sys.executable).with_name("spark-class")
# A daemon of a test serves a handful of executors, for minutes.
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Daemon(Server):
    """A master, a worker or a history server; in a `with` statement it is up.

    Args:
        name: The last part of its class, such as `master.Master`.
        arguments: Those of its command line.
        port: The port of its web page.
        options: Spark's settings for it, each as `-Dname=value`.
        variables: For its environment, beside Spark's own.
    """

    # A page that answers as soon as it serves.
    probe = "/json/"

    def __init__(
        self,
        name: str,
        arguments: list[str],
        port: int,
        options: Sequence[str],
        variables: Mapping[str, str],
    ) -> None:
        home = Path(tempfile.mkdtemp(prefix="tidemill-spark-"))
        environ = {
            "HOME": str(home),
            "PATH": os.pathsep.join((str(SPARK_CLASS.parent), os.environ["PATH"])),
            "JAVA_HOME": str(java_home(os.environ)),
            "LC_ALL": "C.UTF-8",
            "SPARK_DAEMON_JAVA_OPTS": " ".join((JVM, *options)),
            "SPARK_DAEMON_MEMORY": "192m",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_WORKER_DIR": str(home),
        }
        daemon = [SPARK_CLASS, f"org.apache.spark.deploy.{name}", *arguments]
        super().__init__(daemon, home, environ={**environ, **variables})
        self.page = f"http://127.0.0.1:{port}"

    def answers(self) -> bool:
        try:
            return httpx.get(f"{self.page}{self.probe}", timeout=5).is_success
        except httpx.TransportError:
            return False

    def view(self) -> Any:
        """What its page says, as data."""
        return httpx.get(f"{self.page}/json/", timeout=120).json()


class HistoryServer(Daemon):
    """Spark's history server; in a `with` statement it is up.

    Args:
        logs: The folder of event logs.
    """

    probe = "/api/v1/applications"

    def __init__(self, logs: Path) -> None:
        (port,) = free_ports(1)
        settings = {"fs.logDirectory": logs.as_uri(), "ui.port": port, "fs.update.interval": "1s"}
        options = [f"-Dspark.history.{name}={value}" for name, value in settings.items()]
        super().__init__("history.HistoryServer", [], port, options, {})


class Cluster:
    """Masters with two workers of two cores each; in a `with` statement all of them are up.

    Args:
        masters: How many; all but one stand by.
        options: Settings of all of them, each as `-Dname=value`.
        variables: For the environment of all of them.

    Attributes:
        url: Where applications find the masters, `spark://…`.
    """

    def __init__(
        self,
        options: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
        masters: int = 1,
    ) -> None:
        ports = free_ports(masters)
        self.url = "spark://" + ",".join(f"127.0.0.1:{port}" for port in ports)
        given = (options, variables or {})
        self.masters = [
            Daemon("master.Master", [*at(page), "--port", str(port)], page, *given)
            for port, page in zip(ports, free_ports(masters), strict=True)
        ]
        of_worker = ["--cores", "2", "--memory", "2g", self.url]
        self.workers = [
            Daemon("worker.Worker", [*at(page), *of_worker], page, *given) for page in free_ports(2)
        ]

    @property
    def master(self) -> Daemon:
        """The one that leads.

        Raises:
            StopIteration: none does now.
        """
        return next(self._leading())

    def leads(self) -> bool:
        """Whether one of the masters leads."""
        return any(self._leading())

    def alive(self) -> int:
        """How many workers the master knows to be alive."""
        return sum(worker["state"] == "ALIVE" for worker in self.master.view()["workers"])

    def ended(self) -> list[dict[str, Any]]:
        """The applications of the past, the oldest first, once none is at work."""
        return ended_applications(lambda: self.master.view())

    def __enter__(self) -> Self:
        with ExitStack() as started:
            for daemon in (*self.masters, *self.workers):
                started.callback(daemon.__exit__)
                daemon.launch()
            for daemon in (*self.masters, *self.workers):
                daemon.wait()
            wait_for(self.leads)
            wait_for(lambda: self.alive() == len(self.workers), PATIENCE)
            self._started = started.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._started.close()

    def _leading(self) -> Iterator[Daemon]:
        return (one for one in self.masters if one.answers() and one.view()["status"] == "ALIVE")


def at(page: int) -> list[str]:
    """The arguments by which a master or a worker has its page at a port."""
    return ["--host", "127.0.0.1", "--webui-port", str(page)]


def ended_applications(view: Callable[[], Any]) -> list[dict[str, Any]]:
    """The applications of the past, the oldest first, once none is at work.

    A command ends a moment before its JVM, and only then the application does.

    Args:
        view: What the master's page says, as data.
    """
    wait_for(lambda: not view()["activeapps"], PATIENCE)
    return list(view()["completedapps"])
