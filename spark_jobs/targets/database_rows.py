"""Rows inserted through Python's DB-API: an example of a target that keeps its head in the table.

    publish:
      - {kind: delta}
      - kind: python
        target: "database_rows:DatabaseRows"
        options: {module: sqlite3, database: /srv/orders.sqlite, table: orders}

It takes any driver that begins transactions by itself, as PEP 249 says, and whose parameters are
`?` or `%s`, such as `sqlite3` and `psycopg`. What psycopg needs beside `database: "host=db"`, such
as a password, it finds in its own variables and files. For a database that is reached by JDBC
derive a class that connects otherwise:

    class JdbcRows(DatabaseRows):
        def connect(self):
            driver, url, jar = (self.options[name] for name in ("driver", "url", "jar"))
            login = [os.environ["SHOP_USER"], os.environ["SHOP_PASSWORD"]]
            database = jaydebeapi.connect(driver, url, login, jar)
            # Otherwise each statement would be a transaction of its own.
            database.jconn.setAutoCommit(False)
            return database

The table has to be there, with columns for values that the driver takes as Python has them.
Exactly once: rows and head are one transaction, so a try that broke off leaves neither. It does not
say `swaps = True`: a backfill is refused before it starts.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from tidemill.publish.target import Event, LeaseLost, NotOurTurn, Payload

# PEP 249's `paramstyle` -> how a parameter is written.
MARKS = {"qmark": "?", "format": "%s", "pyformat": "%s"}
HEADS = """
    CREATE TABLE IF NOT EXISTS tidemill_heads (
        pipeline VARCHAR(200) PRIMARY KEY, last_batch INTEGER NOT NULL, epoch INTEGER NOT NULL
    )
"""
# The first statement of the transaction, so that a second writer waits, or fails, here.
FENCE = "UPDATE tidemill_heads SET epoch = ? WHERE pipeline = ? AND epoch <= ?"


class DatabaseRows:
    """Appends the rows of each event, in order, each once."""

    def __init__(
        self, options: Mapping[str, Any], *, pipeline: str, epoch: int, say: Callable[[str], None]
    ) -> None:
        self.options = options
        self.driver = importlib.import_module(options["module"])
        self.mark = MARKS[self.driver.paramstyle]
        self.pipeline = pipeline
        self.epoch = epoch
        with self._transaction() as cursor:
            cursor.execute(HEADS)
            if self._head(cursor) is None:
                self._execute(cursor, "INSERT INTO tidemill_heads VALUES (?, -1, 0)", pipeline)

    def connect(self) -> Any:
        """A new connection."""
        return self.driver.connect(self.options["database"])

    def find(self, event: Event) -> int | None:
        with self._transaction() as cursor:
            last, _ = self._head(cursor) or (-1, 0)
        return event.seq if event.last <= last else None

    def apply(self, event: Event, payload: Payload) -> int:
        with self._transaction() as cursor:
            self._append(cursor, event, payload)
        return event.seq

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """A cursor whose statements are committed together, or not at all."""
        with closing(self.connect()) as database, closing(database.cursor()) as cursor:
            try:
                yield cursor
            except BaseException:
                database.rollback()
                raise
            database.commit()

    def _append(self, cursor: Any, event: Event, payload: Payload) -> None:
        self._execute(cursor, FENCE, self.epoch, self.pipeline, self.epoch)
        last, epoch = self._head(cursor) or (-1, 0)
        if epoch > self.epoch:
            raise LeaseLost(
                f"A run with epoch {epoch} has written; this one has {self.epoch}.",
                remedy="Let the newer run go on.",
                epoch=self.epoch,
                newer=epoch,
            )
        if event.last <= last:
            return
        if event.first != last + 1:
            raise NotOurTurn(
                f"The table ends at batch {last}, and event {event.seq} begins at {event.first}.",
                remedy="Restore the table and its row in tidemill_heads from one backup.",
                head=last,
                first=event.first,
            )
        table, names = _quoted(self.options["table"]), payload.schema.names
        columns, places = ", ".join(map(_quoted, names)), ", ".join([self.mark] * len(names))
        insert = f"INSERT INTO {table} ({columns}) VALUES ({places})"
        for _, chunk in payload.read():
            cursor.executemany(insert, [tuple(row.values()) for row in chunk.to_pylist()])
        moved = "UPDATE tidemill_heads SET last_batch = ? WHERE pipeline = ?"
        self._execute(cursor, moved, event.last, self.pipeline)

    def _head(self, cursor: Any) -> tuple[int, int] | None:
        """The last batch in the table, and the newest epoch that wrote."""
        asked = "SELECT last_batch, epoch FROM tidemill_heads WHERE pipeline = ?"
        self._execute(cursor, asked, self.pipeline)
        found: tuple[int, int] | None = cursor.fetchone()
        return found

    def _execute(self, cursor: Any, statement: str, *given: object) -> None:
        cursor.execute(statement.replace("?", self.mark), given)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
