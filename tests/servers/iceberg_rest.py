"""A REST catalogue: Apache Iceberg's own server over its JDBC catalogue, as a plain Java process.

It is the server of Iceberg's own tests of clients. It needs no login, and listens on every address
of the machine.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import requests

from tests.servers.ports import free_ports
from tests.servers.server import Server
from tidemill.toolchain.ivy import pyspark_jars
from tidemill.toolchain.jars import resolve
from tidemill.toolchain.java import java_home


class IcebergRest(Server):
    """A server; in a `with` statement it is up.

    Attributes:
        uri: Its address.
    """

    def __init__(self) -> None:
        (port,) = free_ports(1)
        self.uri = f"http://127.0.0.1:{port}"
        home = Path(tempfile.mkdtemp(prefix="tidemill-iceberg-rest-"))
        java = java_home(os.environ) / "bin" / "java"
        # Hadoop and the libraries of both come from Spark.
        jars = [*resolve(["iceberg_rest"]), pyspark_jars() / "*"]
        main = "org.apache.iceberg.rest.RESTCatalogServer"
        command = [java, "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", ":".join(map(str, jars))]
        given = {
            "CATALOG_REST_PORT": str(port),
            "CATALOG_URI": f"jdbc:sqlite:{home}/catalogue.db",
            "CATALOG_WAREHOUSE": f"file://{home}/warehouse",
        }
        super().__init__([*command, main], home, environ={**os.environ, **given})

    def answers(self) -> bool:
        try:
            return requests.get(f"{self.uri}/v1/config", timeout=5).ok
        except requests.RequestException:
            return False
