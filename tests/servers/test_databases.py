"""The databases of the tests: what they promise to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pymysql
import pytest

from tests.servers.mariadb import MariaDB
from tests.servers.mysql import MySql
from tests.servers.mysql_protocol import MySqlProtocolServer
from tests.servers.postgres import Postgres
from tests.support.processes import child, wait_for

OWNER = """
import time
from {module} import {kind}
server = {kind}()
server.start()
print(server.pid, server.home, flush=True)
time.sleep(600)
"""


# Some tests start a server of their own, so that no fixture gives them the mark.
pytestmark = pytest.mark.server


@pytest.fixture(params=[Postgres, MariaDB, MySql])
def server(request: pytest.FixtureRequest) -> Iterator[Postgres | MySqlProtocolServer]:
    """One that a test may stop."""
    with request.param() as server:
        yield server


def test_after_an_outage_and_after_a_crash_it_is_where_it_was_with_what_it_had(
    server: Postgres | MySqlProtocolServer,
) -> None:
    database = server.fresh_database()
    say(server, database, "CREATE TABLE kept (id int)")
    say(server, database, "INSERT INTO kept VALUES (1)")
    server.stop()
    assert server.pid is None
    assert not server.answers()
    server.start()
    say(server, database, "INSERT INTO kept VALUES (2)")
    server.kill()
    server.start()
    assert say(server, database, "SELECT id FROM kept ORDER BY id") == [(1,), (2,)]


def test_each_fresh_database_is_another_one(postgres: Postgres, mariadb: MariaDB) -> None:
    for server in (postgres, mariadb):
        one, two = server.fresh_database(), server.fresh_database()
        say(server, one, "CREATE TABLE only_here (id int)")
        with pytest.raises((psycopg.errors.UndefinedTable, pymysql.ProgrammingError)):
            say(server, two, "SELECT * FROM only_here")


def test_a_wrong_password_is_refused(postgres: Postgres, mariadb: MariaDB) -> None:
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(**{**postgres.parameters(), "password": "wrong"})
    with pytest.raises(pymysql.OperationalError):
        pymysql.connect(**{**mariadb.parameters(), "password": "wrong"})


def test_all_speak_tls_with_a_certificate_that_clients_can_check(
    postgres: Postgres, mariadb: MariaDB, mysql: MySql
) -> None:
    checked = {"sslmode": "verify-full", "sslrootcert": str(postgres.trusted)}
    with psycopg.connect(**postgres.parameters(), **checked) as connection:
        encrypted = connection.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        assert encrypted.fetchone() == (True,)
    for server in (mariadb, mysql):
        with (
            pymysql.connect(
                **server.parameters(), ssl_ca=str(server.trusted), ssl_verify_identity=True
            ) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
            assert dict(cursor.fetchall())["Ssl_cipher"]


def test_mariadb_takes_rows_from_a_local_file(mariadb: MariaDB, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("1,ä\n2,ß\n")
    database = mariadb.fresh_database()
    say(mariadb, database, "CREATE TABLE loaded (id int, name text)")
    say(
        mariadb,
        database,
        f"LOAD DATA LOCAL INFILE '{file}' INTO TABLE loaded "
        "CHARACTER SET utf8mb4 FIELDS TERMINATED BY ','",
    )
    assert say(mariadb, database, "SELECT * FROM loaded ORDER BY id") == [(1, "ä"), (2, "ß")]


def test_no_password_is_on_a_command_line(
    postgres: Postgres, mariadb: MariaDB, mysql: MySql
) -> None:
    for server in (postgres, mariadb, mysql):
        assert server.pid
        assert server.password not in " ".join(psutil.Process(server.pid).cmdline())


@pytest.mark.parametrize("kind", [Postgres, MariaDB, MySql])
def test_it_ends_when_its_owner_is_killed_and_its_data_goes(kind: type) -> None:
    code = OWNER.format(module=kind.__module__, kind=kind.__name__)
    with child(code) as owner:
        assert owner.stdout is not None
        pid, home = owner.stdout.readline().split()
        assert psutil.pid_exists(int(pid))
        owner.kill()
        wait_for(lambda: not psutil.pid_exists(int(pid)) and not Path(home).exists())


def say(
    server: Postgres | MySqlProtocolServer, database: str, sql: str
) -> list[tuple[object, ...]]:
    """Run one statement, and return its rows."""
    with server.connect(database) as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall()) if cursor.description else []
