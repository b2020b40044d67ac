"""A Hive metastore, from the jars that Spark brings: over Derby, as a plain Java process.

It needs no login, and listens on every address of the machine.
"""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from pathlib import Path

from tests.servers.ports import free_ports
from tests.servers.server import Server
from tidemill.toolchain.ivy import pyspark_jars
from tidemill.toolchain.java import java_home

LOCKS = Path(__file__).with_name("hive_locks.sql")
SETTING = "<property><name>{}</name><value>{}</value></property>"


class HiveMetastore(Server):
    """A server; in a `with` statement it is up.

    Args:
        keeps_types: Whether it refuses to give a column another type, as it does by default.

    Attributes:
        host: Where its Thrift service listens.
        port: The port of that service.
    """

    host = "127.0.0.1"

    def __init__(self, *, keeps_types: bool = True) -> None:
        (self.port,) = free_ports(1)
        home = Path(tempfile.mkdtemp(prefix="tidemill-hive-"))
        derby = f"jdbc:derby:;databaseName={home}/metastore;create=true"
        settings = {
            "javax.jdo.option.ConnectionURL": derby,
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.warehouse.dir": f"file://{home}/warehouse",
            "hive.metastore.disallow.incompatible.col.type.changes": str(keeps_types).lower(),
            # Its logger for that is not among Spark's jars.
            "hive.async.log.enabled": "false",
            # Nor is its own pool of connections, from which it serves locks.
            "datanucleus.connectionPoolingType": "HikariCP",
        }
        lines = "".join(SETTING.format(*one) for one in settings.items())
        (home / "hive-site.xml").write_text(f"<configuration>{lines}</configuration>")
        self._java = [
            str(java_home(os.environ) / "bin" / "java"),
            *("-Xmx256m", "-XX:TieredStopAtLevel=1", "-Dderby.system.durability=test"),
            *("-cp", f"{home}:{pyspark_jars()}/*"),
        ]
        main = "org.apache.hadoop.hive.metastore.HiveMetaStore"
        super().__init__([*self._java, main, "-p", str(self.port)], home)
        self._create_locks(derby)

    def _create_locks(self, database: str) -> None:
        script = f"CONNECT '{database};user=APP';\n{LOCKS.read_text()}"
        ij = [*self._java, "-Dij.exceptionTrace=true", "org.apache.derby.tools.ij"]
        said = subprocess.run(
            ij, input=script, cwd=self.home, capture_output=True, text=True, check=True
        ).stdout
        assert "ERROR" not in said, said

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
