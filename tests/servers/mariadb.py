"""MariaDB: its own server, with passwords and without fsync."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

from tests.servers.mysql_protocol import MySqlProtocolServer
from tests.servers.programs import programs_of

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


class MariaDB(MySqlProtocolServer):
    """A MariaDB of our own.

    Args:
        user: As for every such server.
        password: Likewise.
    """

    def __init__(self, user: str = "tidemill", password: str | None = None) -> None:
        super().__init__("mariadb", user, password)

    def _initialised(self) -> list[str | Path]:
        programs = programs_of("mariadb", _unpack)
        options = (*self._places(programs), *(f"--{each}" for each in SETTINGS))
        command: list[str | Path] = [programs / "bin" / "mariadbd", "--no-defaults", *options]
        self._initialise(command, programs / "share")
        return command

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
