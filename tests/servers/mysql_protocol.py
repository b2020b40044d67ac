"""A server that speaks MySQL's protocol, as PyMySQL reaches it."""

from __future__ import annotations

import itertools
import secrets
import tempfile
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from tests.servers.certificate import make_certificate
from tests.servers.ports import free_ports
from tests.servers.server import Server


class MySqlProtocolServer(Server):
    """A server of our own; in a `with` statement it is up.

    Args:
        name: Begins the name of its temporary folder.
        user: Who may do everything.
        password: The password of that user; made up where not given.
        with_rsa: Whether its certificate has an RSA key.

    Attributes:
        trusted: The certificate that clients trust, a PEM file, where they want TLS.
    """

    host = "127.0.0.1"

    def __init__(
        self, name: str, user: str, password: str | None, *, with_rsa: bool = False
    ) -> None:
        self.home = Path(tempfile.mkdtemp(prefix=f"tidemill-{name}-"))
        (self.port,) = free_ports(1)
        self.user = user
        self.password = password or secrets.token_urlsafe(24)
        self._numbers = itertools.count(1)
        self.trusted = make_certificate(self.home, with_rsa=with_rsa)
        command = self._initialised()
        super().__init__(command, self.home)

    def _initialised(self) -> list[str | Path]:
        """Lay out the data folder with its user; the command that starts the server."""
        raise NotImplementedError

    def parameters(self, database: str | None = None) -> dict[str, Any]:
        """What PyMySQL's `connect` takes."""
        return {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
            "database": database,
        }

    def connect(self, database: str | None = None) -> Connection[Cursor]:
        """A connection that commits each statement by itself."""
        return pymysql.connect(**self.parameters(database), autocommit=True, local_infile=True)

    def fresh_database(self) -> str:
        """The name of a new and empty database."""
        name = f"test_{next(self._numbers)}"
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
        return name

    def answers(self) -> bool:
        """Whether it lets us in."""
        try:
            self.connect().close()
        except pymysql.OperationalError:
            return False
        return True

    def _places(self, programs: Path) -> tuple[str, ...]:
        """The server's options that name files, folders and its port."""
        return (
            f"--basedir={programs}",
            f"--lc-messages-dir={programs / 'share'}",
            f"--character-sets-dir={programs / 'share' / 'charsets'}",
            f"--datadir={self.home / 'data'}",
            f"--pid-file={self.home / 'server.pid'}",
            f"--socket={self.home / 'socket'}",
            f"--port={self.port}",
            # It would else make a key of its own at every start, which takes seconds.
            f"--ssl-cert={self.home / 'server.pem'}",
            f"--ssl-key={self.home / 'server.pem'}",
            "--user=root",
        )
