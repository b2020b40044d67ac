"""Rows inserted through Python's DB-API: an example of a target that keeps its head in the table.

    publish:
      - {kind: delta}
      - kind: python
        target: "database_rows:DatabaseRows"
        options: {module: sqlite3, database: /srv/orders.sqlite, table: orders}

It takes any driver that begins transactions by itself, as PEP 249 says, and whose parameters are
`?`, such as `sqlite3`. For a database that is reached by JDBC, copy the file and let `connect`
answer `jaydebeapi.connect(driver_class, url, [user, password], jar)`, which is such a driver.

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
        self.pipeline = pipeline
        self.epoch = epoch
        with self._transaction() as cursor:
            cursor.execute(HEADS)
            if self._head(cursor) is None:
                cursor.execute("INSERT INTO tidemill_heads VALUES (?, -1, 0)", (pipeline,))

    def connect(self) -> Any:
        """A new connection."""
        return importlib.import_module(self.options["module"]).connect(self.options["database"])

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
        cursor.execute(FENCE, (self.epoch, self.pipeline, self.epoch))
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
        columns, places = ", ".join(map(_quoted, names)), ", ".join("?" * len(names))
        insert = f"INSERT INTO {table} ({columns}) VALUES ({places})"
        for _, chunk in payload.read():
            cursor.executemany(insert, [tuple(row.values()) for row in chunk.to_pylist()])
        moved = "UPDATE tidemill_heads SET last_batch = ? WHERE pipeline = ?"
        cursor.execute(moved, (event.last, self.pipeline))

    def _head(self, cursor: Any) -> tuple[int, int] | None:
        """The last batch in the table, and the newest epoch that wrote."""
        asked = "SELECT last_batch, epoch FROM tidemill_heads WHERE pipeline = ?"
        cursor.execute(asked, (self.pipeline,))
        found: tuple[int, int] | None = cursor.fetchone()
        return found


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
