"""PostgreSQL: its own server, with passwords and without fsync."""

from __future__ import annotations

import itertools
import os
import secrets
import signal
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import psycopg

from tests.servers.certificate import make_certificate
from tests.servers.ports import free_ports
from tests.servers.programs import hand_over, nobody, open_folder, programs_of, unpack_tar
from tests.servers.server import Server, rights_of

# What was committed outlives a crash of the server, not one of the machine.
SETTINGS = (
    "fsync=off",
    "full_page_writes=off",
    "shared_buffers=32MB",
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "ssl=on",
)


class Postgres(Server):
    """A server of our own; in a `with` statement it is up.

    Args:
        user: Who may do everything.
        password: The password of that user; made up where not given.

    Attributes:
        trusted: The certificate that clients trust, a PEM file, where they want TLS.
    """

    host = "127.0.0.1"

    def __init__(self, user: str = "tidemill", password: str | None = None) -> None:
        self.home = open_folder("tidemill-postgres-")
        (self.port,) = free_ports(1)
        self.user = user
        self.password = password or secrets.token_urlsafe(24)
        self._numbers = itertools.count(1)
        self.trusted = make_certificate(self.home)
        certificate = self.home / "server.pem"
        hand_over(certificate)
        programs = programs_of("postgres", _unpack, instead=self.home / "programs") / "bin"
        self._initialise(programs / "initdb")
        own = (f"port={self.port}", f"ssl_cert_file={certificate}", f"ssl_key_file={certificate}")
        options = (f"--{each}" for each in (*SETTINGS, *own))
        super().__init__(
            [programs / "postgres", "-D", self.home / "data", *options],
            self.home,
            environ=_environment(),
            user=nobody(),
            # Fast: connections are cut, not waited for.
            farewell=signal.SIGINT,
        )

    def parameters(self, database: str = "postgres") -> dict[str, Any]:
        """What psycopg's `connect` takes."""
        return {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
            "dbname": database,
        }

    def dsn(self, database: str = "postgres") -> str:
        """The same as an address."""
        return f"postgresql://{self.user}:{self.password}@{self.host}:{self.port}/{database}"

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        """A connection that commits each statement by itself."""
        return psycopg.connect(**self.parameters(database), autocommit=True)

    def fresh_database(self) -> str:
        """The name of a new and empty database."""
        name = f"test_{next(self._numbers)}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return name

    def answers(self) -> bool:
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def _initialise(self, initdb: Path) -> None:
        secret = self.home / "password"
        secret.touch(mode=0o600)
        secret.write_text(self.password)
        hand_over(secret)
        options = ("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
        subprocess.run(
            [initdb, "-D", self.home / "data", "-U", self.user, f"--pwfile={secret}", *options],
            cwd=self.home,
            env=_environment(),
            check=True,
            capture_output=True,
            **rights_of(nobody()),
        )
        secret.unlink()


def _environment() -> dict[str, str]:
    """Ours without what would speak to another PostgreSQL, or to another's library."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**own, "LC_ALL": "C", "TZ": "UTC"}


def _unpack(jar: Path, folder: Path) -> None:
    with zipfile.ZipFile(jar) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".txz"))
        inner = Path(archive.extract(name, folder))
    unpack_tar(inner, folder)
    inner.unlink()
