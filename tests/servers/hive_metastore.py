"""A Hive metastore, from the jars that Spark brings: over Derby, as a plain Java process.

It needs no login, and listens on every address of the machine.
"""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

from tests.servers.ports import free_ports
from tests.servers.server import Server
from tidemill.toolchain.ivy import pyspark_jars
from tidemill.toolchain.java import java_home

SETTING = "<property><name>{}</name><value>{}</value></property>"


class HiveMetastore(Server):
    """A server; in a `with` statement it is up.

    Attributes:
        host: Where its Thrift service listens.
        port: The port of that service.
    """

    host = "127.0.0.1"

    def __init__(self) -> None:
        (self.port,) = free_ports(1)
        home = Path(tempfile.mkdtemp(prefix="tidemill-hive-"))
        derby = f"jdbc:derby:;databaseName={home}/metastore;create=true"
        settings = {
            "javax.jdo.option.ConnectionURL": derby,
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.warehouse.dir": f"file://{home}/warehouse",
            # Its logger for that is not among Spark's jars.
            "hive.async.log.enabled": "false",
        }
        lines = "".join(SETTING.format(*one) for one in settings.items())
        (home / "hive-site.xml").write_text(f"<configuration>{lines}</configuration>")
        java = java_home(os.environ) / "bin" / "java"
        options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-Dderby.system.durability=test"]
        path = f"{home}:{pyspark_jars()}/*"
        main = "org.apache.hadoop.hive.metastore.HiveMetaStore"
        super().__init__([java, *options, "-cp", path, main, "-p", str(self.port)], home)

    @property
    def uri(self) -> str:
        """Its address as engines take it."""
        return f"thrift://{self.host}:{self.port}"

    def answers(self) -> bool:
        try:
            with socket.create_connection((self.host, self.port), timeout=5):
                return True
        except OSError:
            return False
