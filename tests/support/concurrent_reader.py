"""Somebody who reads a database's table over and over while others write to it.

Each look is one snapshot. What it has seen is kept, so that a test can hold every single state
against those that may ever be seen.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from typing import Any, Self

import psycopg.errors
import pymysql.err

from tests.support.processes import wait_for

# Rows, and how often each is there; of several queries, one after the other.
State = tuple[frozenset[tuple[tuple[Any, ...], int]], ...]

POSTGRES_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
MARIADB_SNAPSHOT = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
PAUSE = 0.003
# MariaDB's numbers: no such table; it was created or altered after the snapshot began.
NO_TABLE, TOO_NEW = 1146, 1412


def state_of(*results: Iterable[Sequence[Any]]) -> State:
    """The state in which queries give these rows."""
    return tuple(frozenset(Counter(map(tuple, rows)).items()) for rows in results)


class ConcurrentReader:
    """Reads while its `with` block runs.

    Args:
        connect: Opens a connection of psycopg's or PyMySQL's that commits each statement by itself.
        queries: What is read in each snapshot; a table that is not there has no rows.
        begin: The statement that begins a snapshot, PostgreSQL's where not given.

    Attributes:
        states: What was seen, without repetitions that follow each other.
        looks: How often it has looked.
    """

    def __init__(
        self, connect: Callable[[], Any], *queries: str, begin: str = POSTGRES_SNAPSHOT
    ) -> None:
        self.connect = connect
        self.queries = queries
        self.begin = begin
        self.states: list[State] = []
        self.looks = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        self.look()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            with suppress(AssertionError):
                self.look()
        self._done.set()
        self._thread.join()
        if kind is None and self._error is not None:
            raise self._error

    def look(self, times: int = 1) -> None:
        """Wait until so many snapshots were read that began after this call."""
        # The one that is being read now may have begun before.
        enough = self.looks + times + 1
        wait_for(lambda: self.looks >= enough or not self._thread.is_alive())

    def strays(self, allowed: Container[State]) -> list[State]:
        """The states that no reader should ever have seen."""
        return [state for state in self.states if state not in allowed]

    def _read(self) -> None:
        try:
            connected = self.connect()
            try:
                while not self._done.is_set():
                    found = self._snapshot(connected.cursor())
                    if found is None:
                        continue
                    state = state_of(*found)
                    if not self.states or state != self.states[-1]:
                        self.states.append(state)
                    self.looks += 1
                    # The writers may run in this process, under the same lock of Python's.
                    self._done.wait(PAUSE)
            finally:
                connected.close()
        except BaseException as error:  # noqa: BLE001 - raised where the block ends
            self._error = error

    def _snapshot(self, cursor: Any) -> list[list[Sequence[Any]]] | None:
        """The rows of each query; None where the snapshot is of no use."""
        cursor.execute(self.begin)
        found = []
        try:
            for query in self.queries:
                cursor.execute(query)
                found.append(cursor.fetchall())
        except psycopg.errors.UndefinedTable:
            found = [[] for _ in self.queries]
        except pymysql.err.MySQLError as error:
            if error.args[0] == TOO_NEW:
                return None
            if error.args[0] != NO_TABLE:
                raise
            found = [[] for _ in self.queries]
        finally:
            cursor.execute("ROLLBACK")
        return found
