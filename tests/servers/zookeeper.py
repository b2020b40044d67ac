"""ZooKeeper, from the jars that Spark brings: one server as a plain Java process."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

import pyspark

from tests.servers.ports import free_ports
from tests.servers.server import Server
from tidemill.toolchain.java import java_home

# Milliseconds; a session ends at most twenty of them after its holder has died.
TICK = "250"


class ZooKeeper(Server):
    """A server; in a `with` statement it is up.

    Attributes:
        address: Host and port.
    """

    def __init__(self) -> None:
        (self._port,) = free_ports(1)
        self.address = f"127.0.0.1:{self._port}"
        home = Path(tempfile.mkdtemp(prefix="tidemill-zookeeper-"))
        java = java_home(os.environ) / "bin" / "java"
        options = ["-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dzookeeper.admin.enableServer=false"]
        jars = Path(pyspark.__file__).parent / "jars" / "*"
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        command = [java, *options, "-cp", jars, main, str(self._port), home / "data", TICK]
        super().__init__(command, home)

    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=5) as connection:
                connection.sendall(b"srvr")
                return b"Mode: standalone" in connection.recv(4096)
        except OSError:
            return False
