"""A log in SQLite as a stream: an example of a source that is a file, not a fork.

Any table that is only ever added to will do, with an `INTEGER PRIMARY KEY AUTOINCREMENT`, by which
rows are numbered in the order of their commits as long as one process writes:

    sources:
      ticks:
        kind: python
        data_source: sqlite_log:SqliteLog
        schema: id long, price double
        options: {path: /srv/ticks.sqlite, table: ticks, maxRowsPerBatch: 100000}
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

Offset = dict[str, int]
ROWS_PER_PARTITION = 50_000


class SqliteLog(DataSource):
    """Rows of a table, in the order of their row ids."""

    @classmethod
    def name(cls) -> str:
        return "sqlite_log"

    def schema(self) -> str:
        msg = "give the schema; the columns are read by their names"
        raise ValueError(msg)

    def streamReader(self, schema: StructType) -> SqliteLogReader:
        return SqliteLogReader(dict(self.options), [field.name for field in schema.fields])


@dataclass
class Rows(InputPartition):
    """The rows after one id, up to another."""

    after: int
    upto: int


class SqliteLogReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads ranges of row ids; an offset is the last id that was read.

    Args:
        options: `path` of the database, `table`, and if wanted `maxRowsPerBatch`.
        columns: To read.
    """

    def __init__(self, options: dict[str, str], columns: list[str]) -> None:
        given = {name.lower(): value for name, value in options.items()}
        self._path = given["path"]
        self._table = _quoted(given["table"])
        self._columns = ", ".join(_quoted(column) for column in columns)
        self._limit = int(given.get("maxrowsperbatch", 0))
        self._target: int | None = None

    def initialOffset(self) -> Offset:
        return {"row": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._limit) if self._limit else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._newest()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        newest = self._newest() if self._target is None else self._target
        if isinstance(limit, ReadMaxRows):
            newest = min(newest, self._nth_after(start["row"], limit.max_rows) or newest)
        return {"row": max(start["row"], newest)}

    def partitions(self, start: Offset, end: Offset) -> list[Rows]:
        if start["row"] >= end["row"]:
            return []
        bounds = [*range(start["row"], end["row"], ROWS_PER_PARTITION), end["row"]]
        return [Rows(after, upto) for after, upto in pairwise(bounds)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        rows = cast(Rows, partition)
        query = (
            f"SELECT {self._columns} FROM {self._table} "  # noqa: S608 - names are quoted
            "WHERE rowid > ? AND rowid <= ? ORDER BY rowid"
        )
        with closing(self._open()) as database:
            yield from database.execute(query, (rows.after, rows.upto))

    def commit(self, end: Offset) -> None:
        """Nothing: the log keeps its rows, so that any of them can be read again."""

    def _newest(self) -> int:
        query = f"SELECT max(rowid) FROM {self._table}"  # noqa: S608 - names are quoted
        with closing(self._open()) as database:
            (newest,) = database.execute(query).fetchone()
        return newest or 0

    def _nth_after(self, after: int, rows: int) -> int | None:
        query = (
            f"SELECT rowid FROM {self._table} WHERE rowid > ? "  # noqa: S608 - names are quoted
            "ORDER BY rowid LIMIT 1 OFFSET ?"
        )
        with closing(self._open()) as database:
            found = database.execute(query, (after, rows - 1)).fetchone()
        return found[0] if found else None

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
