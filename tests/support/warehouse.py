"""A database on one of the test servers, as tests look at it and as targets log in to it."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from typing import Any

import psycopg
import pymysql

from tests.servers.mysql_protocol import MySqlProtocolServer
from tests.servers.postgres import Postgres
from tests.support.concurrent_reader import MARIADB_SNAPSHOT, POSTGRES_SNAPSHOT
from tidemill.publish.database.session import BATCH, GENERATION

Values = tuple[Any, ...]
WIDTH = re.compile(r"(?<=int)\((?!1\))\d+\)")


class Warehouse(ABC):
    """A new and empty database.

    Args:
        server: That it is on.
    """

    kind: str
    quote: str
    here: str
    type_column: str
    text_type: str
    snapshot: str

    def __init__(self, server: Postgres | MySqlProtocolServer) -> None:
        self.server = server
        self.database = server.fresh_database()

    @abstractmethod
    def connect(self) -> Any:
        """A connection of the driver's that commits each statement by itself."""

    @property
    def connection(self) -> str:
        """The Airflow connection, as its variable holds it."""
        return json.dumps(
            {
                "conn_type": self.kind,
                "host": self.server.host,
                "port": self.server.port,
                "login": self.server.user,
                "password": self.server.password,
                "schema": self.database,
            }
        )

    def target(self, table: str = "orders", **given: str) -> str:
        """The target in a spec."""
        more = "".join(f", {name}: {value}" for name, value in given.items())
        return f"{{kind: {self.kind}, conn_id: warehouse, table: {table}{more}}}"

    def quoted(self, name: str) -> str:
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def execute(self, statement: str, *values: Any) -> list[Values]:
        connected = self.connect()
        try:
            cursor = connected.cursor()
            cursor.execute(statement, values or None)
            return list(cursor.fetchall()) if cursor.description else []
        finally:
            connected.close()

    def rows(self, *columns: str, table: str = "orders") -> Counter[Values]:
        """The rows of a table, and how often each is there; none where there is no table."""
        names = ", ".join(map(self.quoted, columns))
        if not self.tables(table):
            return Counter()
        return Counter(self.execute(f"SELECT {names} FROM {self.quoted(table)}"))

    def rows_as_text(self, *columns: str, table: str = "orders") -> list[Values]:
        """The rows of a table, all but the first column as the database prints them."""
        first, *others = map(self.quoted, columns)
        cast = ", ".join(f"cast({name} AS {self.text_type})" for name in others)
        return self.execute(f"SELECT {first}, {cast} FROM {self.quoted(table)}")

    def ids(self, table: str = "orders") -> list[int]:
        return sorted(number for (number,) in self.rows("id", table=table).elements())

    def batches(self, table: str = "orders") -> dict[int, Values]:
        """Id -> generation and batch of its row."""
        found = self.rows("id", GENERATION, BATCH, table=table)
        return {number: (generation, batch) for number, generation, batch in found}

    def tells_padded_keys_apart(self) -> bool:
        """Whether a key can differ from another one by a space at its end."""
        return True

    def head(self, table: str = "orders") -> Values | None:
        """Last batch, number in the journal and epoch."""
        if not self.tables("tidemill_heads"):
            return None
        found = self.execute(
            "SELECT last_batch, seq, epoch FROM tidemill_heads WHERE table_name = %s", table
        )
        return found[0] if found else None

    def tables(self, name: str) -> list[Values]:
        return self.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_name = %s "
            f"AND table_schema = {self.here}",
            name,
        )

    def types(self, table: str = "orders") -> dict[str, str]:
        """Column -> type, in the table's order; without the width that some print of integers."""
        found = self.execute(
            f"SELECT column_name, {self.type_column} FROM information_schema.columns "
            f"WHERE table_name = %s AND table_schema = {self.here} ORDER BY ordinal_position",
            table,
        )
        return {name: WIDTH.sub("", kind) for name, kind in found}


class PostgresWarehouse(Warehouse):
    """A database of PostgreSQL."""

    kind = "postgres"
    quote = '"'
    here = "current_schema()"
    type_column = "data_type"
    text_type = "text"
    snapshot = POSTGRES_SNAPSHOT

    def connect(self) -> psycopg.Connection:
        assert isinstance(self.server, Postgres)
        return self.server.connect(self.database)


class MariaDbWarehouse(Warehouse):
    """A database of MariaDB."""

    kind = "mariadb"
    quote = "`"
    here = "database()"
    type_column = "column_type"
    text_type = "char"
    snapshot = MARIADB_SNAPSHOT

    def connect(self) -> pymysql.Connection:  # type: ignore[type-arg]
        assert isinstance(self.server, MySqlProtocolServer)
        return self.server.connect(self.database)


class MySqlWarehouse(MariaDbWarehouse):
    """A database of MySQL, which a spec reaches as the same kind."""

    def tells_padded_keys_apart(self) -> bool:
        """MySQL has no such collation before 8.0.17."""
        return bool(self.execute("SHOW COLLATION LIKE 'utf8mb4_0900_bin'"))


# By the fixture that has the server.
WAREHOUSES: dict[str, type[Warehouse]] = {
    "postgres": PostgresWarehouse,
    "mariadb": MariaDbWarehouse,
    "mysql": MySqlWarehouse,
}
