"""Tables of many files and of many commits, against Delta's own commits of the same files."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from pathlib import Path

from tests.bench.measure import Command, Cost, cost_of
from tests.bench.results import Side
from tests.bench.sides import SCRIPTS
from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History
from tests.support.sample_rows import Row
from tidemill.toolchain.java import java_home

READERS = ("polars", "duckdb", "spark")
_FIRST = date(2020, 1, 1)
_SWAP = "again"
# Increments, each with a commit of its own.
_PUBLISHED_AT_ONCE = 20


class ManyFilesSides:
    """One increment of many files, and a backfill that replaces all of its partitions.

    Args:
        home: An empty folder.
        files: The files of the increment; a multiple of `partitions`.
        partitions: How many partitions they are in.

    Attributes:
        tables: Ours and theirs.
    """

    def __init__(self, home: Path, files: int, partitions: int) -> None:
        self._home = home
        home.mkdir(parents=True)
        self._history = history = History(home)
        batches = range(files // partitions)
        for number in batches:
            history.batch(_rows(number, partitions))
        history.seal("first")
        history.judge(1)
        self.tables = (history.layout.table, home / "theirs")
        self._keep(history.root, "sealed")
        self._keep(history.sink, "files")
        history.publish("first")
        every = [day.isoformat() for day in _days(partitions)]
        made_again(history, _rows(0, partitions), run_id=_SWAP, partitions=days(*every))
        self._keep(history.root, "published")
        self._keep(next(history.layout.table.glob("_backfill*")), "new")
        self._by_hand("files", "append")
        self._keep(self._theirs, "by_hand")

    @property
    def _theirs(self) -> Path:
        return self.tables[1]

    def publish(self) -> tuple[Side, Side]:
        def theirs() -> Cost:
            shutil.rmtree(self._theirs)
            return self._by_hand("files", "append")

        return partial(self._publish, "sealed", "first"), theirs

    def swap(self) -> tuple[Side, Side]:
        def theirs() -> Cost:
            self._restore("by_hand", self._theirs)
            return self._by_hand("new", "overwrite")

        return partial(self._publish, "published", _SWAP), theirs

    def count(self) -> tuple[Side, Side]:
        self._restore("published", self._history.root)
        self._restore("by_hand", self._theirs)
        return tuple(  # type: ignore[return-value]
            partial(_cost, [*_script("read_table"), "count", str(table)]) for table in self.tables
        )

    def _publish(self, before: str, run: str) -> Cost:
        self._restore(before, self._history.root)
        command = [sys.executable, "-m", "tidemill.main", "publish", self._history.name]
        return cost_of([[*command, "--run-id", run]], {**os.environ, **self._history.environ})

    def _by_hand(self, files: str, mode: str) -> Cost:
        """Commit files that a writer has just put below the table."""
        _link(self._home / files, self._theirs / f"of-{files}")
        return _cost([*_script("commit_by_hand"), str(self._theirs), f"of-{files}", mode])

    def _keep(self, folder: Path, name: str) -> None:
        _link(folder, self._home / name)

    def _restore(self, name: str, folder: Path) -> None:
        shutil.rmtree(folder)
        _link(self._home / name, folder)


class ManyCommitsSides:
    """A table of many increments, and one of the same files by one commit.

    Args:
        home: An empty folder.
        increments: How many.
    """

    def __init__(self, home: Path, increments: int) -> None:
        home.mkdir(parents=True)
        history = History(home)
        for number in range(increments):
            history.increment(_rows(number, 1))
            if (number + 1) % _PUBLISHED_AT_ONCE == 0 or number + 1 == increments:
                history.publish()
        self._ours, self._theirs = history.layout.table, home / "theirs"
        _link(history.sink, self._theirs / "of-files")
        _cost([*_script("commit_by_hand"), str(self._theirs), "of-files", "append"])

    def read_by(self, reader: str) -> tuple[Side, Side]:
        return tuple(  # type: ignore[return-value]
            partial(_cost, [*_script("read_table"), reader, str(table)])
            for table in (self._ours, self._theirs)
        )


def _rows(batch: int, partitions: int) -> Iterator[Row]:
    for number, day in enumerate(_days(partitions)):
        at = datetime.combine(day, time(12), UTC)
        yield {"id": batch * partitions + number, "at": at, "day": day}


def _days(count: int) -> list[date]:
    return [_FIRST + timedelta(number) for number in range(count)]


def _link(folder: Path, copy: Path) -> None:
    """A copy that shares the files, which are never changed in place."""
    shutil.copytree(folder, copy, copy_function=os.link)


def _script(name: str) -> Command:
    return [sys.executable, str(SCRIPTS / f"{name}.py")]


def _cost(command: Command) -> Cost:
    # Only Spark as a reader needs a Java.
    java = {"JAVA_HOME": str(java_home(os.environ))} if "spark" in command else {}
    return cost_of([command], {**os.environ, **java})
