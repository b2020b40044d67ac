"""MariaDB: its own server, with passwords and without fsync."""

from __future__ import annotations

import itertools
import secrets
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from tests.servers.certificate import make_certificate
from tests.servers.ports import free_ports
from tests.servers.programs import programs_of
from tests.servers.server import Server

# What was committed outlives a crash of the server, not one of the machine.
SETTINGS = (
    "innodb-flush-log-at-trx-commit=2",
    "innodb-flush-method=nosync",
    "innodb-buffer-pool-size=32M",
    "innodb-log-file-size=8M",
    "aria-pagecache-buffer-size=8M",
    "performance-schema=off",
    "skip-log-bin",
    "skip-name-resolve",
    "character-set-server=utf8mb4",
    "local-infile=1",
    "bind-address=127.0.0.1",
)
# What `mariadb-install-db` runs, but for help texts and views for people.
SYSTEM_TABLES = (
    "mariadb_system_tables.sql",
    "mariadb_performance_tables.sql",
    "mariadb_system_tables_data.sql",
)
# Each statement on a line of its own, as the server wants it while it makes its tables.
OWNER = """
FLUSH PRIVILEGES;
DELETE FROM mysql.global_priv WHERE User = 'root';
FLUSH PRIVILEGES;
CREATE USER '{user}'@'127.0.0.1' IDENTIFIED BY '{password}';
GRANT ALL ON *.* TO '{user}'@'127.0.0.1' WITH GRANT OPTION;
"""


class MariaDB(Server):
    """A server of our own; in a `with` statement it is up.

    Args:
        user: Who may do everything.
        password: The password of that user; made up where not given.

    Attributes:
        trusted: The certificate that clients trust, a PEM file, where they want TLS.
    """

    host = "127.0.0.1"

    def __init__(self, user: str = "tidemill", password: str | None = None) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="tidemill-mariadb-"))
        (self.port,) = free_ports(1)
        self.user = user
        self.password = password or secrets.token_urlsafe(24)
        self._numbers = itertools.count(1)
        self.trusted = make_certificate(self.home)
        programs = programs_of("mariadb", _unpack)
        places = (
            f"basedir={programs}",
            f"lc-messages-dir={programs / 'share'}",
            f"character-sets-dir={programs / 'share' / 'charsets'}",
            f"datadir={self.home / 'data'}",
            f"pid-file={self.home / 'server.pid'}",
            f"socket={self.home / 'socket'}",
            f"port={self.port}",
            # It would else make a key of its own at every start, which takes seconds.
            f"ssl-cert={self.home / 'server.pem'}",
            f"ssl-key={self.home / 'server.pem'}",
            "user=root",
        )
        options = (f"--{each}" for each in (*places, *SETTINGS))
        command = [programs / "bin" / "mariadbd", "--no-defaults", *options]
        self._initialise(command, programs / "share")
        super().__init__(command, self.home)

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

    def _initialise(self, command: list[str | Path], share: Path) -> None:
        (self.home / "data" / "mysql").mkdir(parents=True)
        tables = "\n".join((share / name).read_text() for name in SYSTEM_TABLES)
        owner = OWNER.format(user=self.user, password=self.password)
        subprocess.run(
            [*command, "--bootstrap"],
            input=f"USE mysql;\nSET @auth_root_socket=NULL;\n{tables}{owner}",
            check=True,
            capture_output=True,
            text=True,
        )


def _unpack(jar: Path, folder: Path) -> None:
    """The server with its texts; the jar's clients and plug-ins are not needed."""
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.infolist():
            inner = Path(*Path(entry.filename).parts[5:])
            if entry.is_dir() or (inner.parts[:1] != ("share",) and inner.name != "mariadbd"):
                continue
            (folder / inner).parent.mkdir(parents=True, exist_ok=True)
            (folder / inner).write_bytes(archive.read(entry))
    (folder / "bin" / "mariadbd").chmod(0o755)
