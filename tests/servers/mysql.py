"""MySQL: its own server, with passwords, a binary log with GTIDs, and without fsync."""

from __future__ import annotations

import subprocess
import tempfile
import zipfile
from pathlib import Path

from tests.faults.library import compiler
from tests.servers.mysql_protocol import MySqlProtocolServer
from tests.servers.programs import programs_of, unpack_tar

ARCHIVE = "mysql-Linux-amd64.tar.gz"
LIBRARIES = Path(__file__).with_name("mysql_libraries.c")
# What was committed outlives a crash of the server, not one of the machine.
SETTINGS = (
    "innodb-flush-log-at-trx-commit=2",
    "innodb-flush-method=nosync",
    "innodb-buffer-pool-size=32M",
    "innodb-log-file-size=8M",
    "innodb-use-native-aio=0",
    "performance-schema=off",
    "mysqlx=off",
    # As hosted servers have it: it forbids some statements inside of a transaction.
    "server-id=1",
    "log-bin=binlog",
    "sync-binlog=0",
    "gtid-mode=on",
    "enforce-gtid-consistency=on",
    "skip-name-resolve",
    "local-infile=1",
    "bind-address=127.0.0.1",
)
OWNER = """
DROP USER 'root'@'localhost';
CREATE USER '{user}'@'127.0.0.1' IDENTIFIED BY '{password}';
GRANT ALL ON *.* TO '{user}'@'127.0.0.1' WITH GRANT OPTION;
"""


class MySql(MySqlProtocolServer):
    """A MySQL of our own.

    Args:
        user: As for every such server.
        password: Likewise.

    Raises:
        NoCompiler: there is no C compiler for the two libraries that it links against.
    """

    def __init__(self, user: str = "tidemill", password: str | None = None) -> None:
        super().__init__("mysql", user, password, with_rsa=True)

    def _initialised(self) -> list[str | Path]:
        programs = programs_of("mysql", _unpack)
        options = (*self._places(programs), *(f"--{each}" for each in SETTINGS))
        command: list[str | Path] = [programs / "bin" / "mysqld", "--no-defaults", *options]
        owner = self.home / "owner.sql"
        owner.touch(mode=0o600)
        # Each statement on a line of its own, as the server wants it here.
        owner.write_text(OWNER.format(user=self.user, password=self.password))
        try:
            subprocess.run(
                [*command, "--initialize-insecure", f"--init-file={owner}"],
                check=True,
                capture_output=True,
                text=True,
            )
        finally:
            owner.unlink()
        return command


def _unpack(jar: Path, folder: Path) -> None:
    """The server with its texts, and what stands in for two libraries of the system."""
    with zipfile.ZipFile(jar) as archive, tempfile.TemporaryDirectory() as place:
        unpack_tar(Path(archive.extract(ARCHIVE, place)), folder)
    for name in ("libaio.so.1", "libnuma.so.1"):
        options = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        linked = [f"-Wl,-soname,{name}", f"-Wl,--version-script={LIBRARIES.with_suffix('.map')}"]
        out = str(folder / "bin" / name)
        subprocess.run([compiler(), *options, *linked, "-o", out, str(LIBRARIES)], check=True)
