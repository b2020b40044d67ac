"""A reader in a process of its own, who looks at everything that ten pipelines publish.

    python -m tests.chaos.reader ROOT INPUT [DSN]

Each look must give the rows of the transform over some prefix of the input files, and a later look
never those of a shorter one. It looks again and again; each line on its standard input is answered
with what it has found when it has looked once more. After `settle` what it has seen stays, whatever
happens; after `power` it waits for another line, and may then see what it saw when all was settled.
"""

from __future__ import annotations

import json
import selectors
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
from deltalake import DeltaTable

from tests.chaos.campaign_pipelines import (
    CampaignPipeline,
    Rows,
    clock,
    delivered,
    pipelines,
    rejected_ids,
)
from tidemill.contract.layout import Layout
from tidemill.file_formats.delta_log import has_table
from tidemill.journal.published_files import files_now

PAUSE = 0.3


@dataclass
class Found:
    """What a reader has found.

    Attributes:
        looks: Kind -> how often it has looked.
        strays: What it should never have seen, in sentences.
        prefixes: Kind and pipeline -> the longest prefix that the rows seen last are those of.
        in_swap: Pipelines whose rejected rows were last seen between the two versions of a swap.
    """

    looks: Counter[str] = field(default_factory=Counter)
    strays: list[str] = field(default_factory=list)
    prefixes: dict[str, int] = field(default_factory=dict)
    in_swap: list[str] = field(default_factory=list)


class Expected:
    """The prefixes of the input whose rows a table may hold."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: list[Any] = []
        self._places: dict[tuple[str, Any], list[int]] = {}

    def places(self, pipeline: CampaignPipeline, rows: Rows) -> list[int]:
        """The lengths of the prefixes that give these rows."""
        return self._look_up(pipeline.name, pipeline.expected, rows)

    def rejected_places(self, ids: Counter[Any]) -> list[int]:
        return self._look_up("rejected", rejected_ids, ids)

    def _look_up(
        self, name: str, expected: Callable[[Any], Counter[Any]], rows: Counter[Any]
    ) -> list[int]:
        files = sum(1 for _ in self.folder.iterdir())
        if files > len(self._files):
            self._files = delivered(self.folder)
            self._places.clear()
        if (name, None) not in self._places:
            self._places[name, None] = []
            for length in range(len(self._files) + 1):
                state = frozenset(expected(self._files[:length]).items())
                self._places.setdefault((name, state), []).append(length)
        return self._places.get((name, frozenset(rows.items())), [])


class CampaignReader:
    """Looks at tables, lists and database, and holds each look against the input.

    Args:
        dsn: The address of the database; None for none.
    """

    def __init__(self, root: Path, folder: Path, dsn: str | None) -> None:
        self.root = root
        self.expected = Expected(folder)
        self.dsn = dsn
        self.found = Found()
        self._seen: dict[str, tuple[Any, int]] = {}
        self._settled: dict[str, int] = {}

    def settle(self) -> None:
        """What was seen last was published, and a power cut must not take it."""
        self._settled = dict(self.found.prefixes)

    def go_back(self) -> None:
        """The power has failed: what was seen of a step that had not ended may be gone."""
        self.found.prefixes = dict(self._settled)
        self._seen.clear()

    def look(self) -> None:
        """Look at everything that has changed."""
        for pipeline in pipelines(database=self.dsn is not None):
            layout = Layout(self.root, pipeline.name)
            self._look_at_delta(pipeline, layout)
            self._look_at_rejected(layout)
            if "files" in pipeline.targets:
                self._look_at_lists(pipeline, layout)
            if "postgres" in pipeline.targets:
                self._look_at_database(pipeline)

    def _look_at_delta(self, pipeline: CampaignPipeline, layout: Layout) -> None:
        table = _newest(layout.table)
        if table is None or not self._is_new("table", pipeline.name, table.version()):
            return
        self._hold("table", pipeline, _delta_rows(table, pipeline.columns))
        if table.version():
            before = DeltaTable(layout.table, version=table.version() - 1)
            rows = _delta_rows(before, pipeline.columns)
            self.found.looks["version before"] += 1
            # A version without rows may only have created the table or changed its properties.
            if not self.expected.places(pipeline, rows):
                self._stray("version before", pipeline.name, rows)

    def _look_at_rejected(self, layout: Layout) -> None:
        table = _newest(layout.rejected)
        if table is None or not self._is_new("rejected", layout.name, table.version()):
            return
        read = table.to_pyarrow_table(columns=["record", "increment"]).to_pylist()
        rows = [(row["increment"], json.loads(row["record"])["id"]) for row in read]
        ids = Counter(name for _, name in rows)
        self.found.looks["rejected"] += 1
        if self._is_in_swap(layout.name, rows):
            return
        self._advance("rejected", layout.name, self.expected.rejected_places(ids), ids)

    def _is_in_swap(self, name: str, rows: Sequence[tuple[int, str]]) -> bool:
        """Whether a swap has added its rejected rows and not yet removed those of before.

        It does one after the other, so that a row is never in neither of the two tables.
        """
        newest = max((increment for increment, _ in rows), default=0)
        added = Counter(one for increment, one in rows if increment == newest)
        before = Counter(one for increment, one in rows if increment < newest)
        is_in_swap = added.total() > 0 and added <= before and self._is_prefix(before)
        self.found.in_swap = [
            *(one for one in self.found.in_swap if one != name),
            *([name] if is_in_swap else []),
        ]
        return is_in_swap

    def _is_prefix(self, rejected: Counter[str]) -> bool:
        return bool(self.expected.rejected_places(rejected))

    def _look_at_lists(self, pipeline: CampaignPipeline, layout: Layout) -> None:
        files = tuple(layout.home / file.path for file in files_now(layout))
        if not self._is_new("lists", pipeline.name, files):
            return
        rows: Rows = Counter()
        for file in files:
            read = pq.ParquetFile(file).read(columns=list(pipeline.columns))
            rows.update(_plain(row.values()) for row in read.to_pylist())
        self._hold("lists", pipeline, rows)

    def _look_at_database(self, pipeline: CampaignPipeline) -> None:
        assert self.dsn is not None
        columns = ", ".join(pipeline.columns)
        try:
            with psycopg.connect(self.dsn, autocommit=True, connect_timeout=5) as connection:
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                found = connection.execute(f"SELECT {columns} FROM {pipeline.name}".encode())
                rows = Counter(map(_plain, found.fetchall()))
        except psycopg.errors.UndefinedTable:
            return
        except psycopg.OperationalError:
            # The server is down, as the campaign means it to be at times.
            return
        if self._is_new("database", pipeline.name, rows):
            self._hold("database", pipeline, rows)

    def _is_new(self, kind: str, name: str, state: Any) -> bool:
        key = f"{kind} {name}"
        known = self._seen.get(key)
        if known is not None and known[0] == state:
            return False
        self._seen[key] = (state, 0)
        return True

    def _hold(self, kind: str, pipeline: CampaignPipeline, rows: Rows) -> None:
        self.found.looks[kind] += 1
        self._advance(kind, pipeline.name, self.expected.places(pipeline, rows), rows)

    def _advance(self, kind: str, name: str, places: list[int], rows: Counter[Any]) -> None:
        key = f"{kind} {name}"
        # A kind's prefixes may be ambiguous: several prefixes have the same closed windows.
        if not places:
            self._stray(kind, name, rows)
        elif places[-1] < self.found.prefixes.get(key, 0):
            before = self.found.prefixes[key]
            self.found.strays.append(f"{key} went back from prefix {before} to {places[-1]}")
        else:
            self.found.prefixes[key] = places[-1]

    def _stray(self, kind: str, name: str, rows: Counter[Any]) -> None:
        shown = sorted(rows.items(), key=repr)
        self.found.strays.append(f"{kind} {name} had the rows of no prefix: {shown}")


def _newest(path: Path) -> DeltaTable | None:
    # A first commit that a power cut tore does not count: the next publish makes it again.
    return DeltaTable(path) if has_table(path) else None


def _delta_rows(table: DeltaTable, columns: tuple[str, ...]) -> Rows:
    if not table.file_uris():
        return Counter()
    read = table.to_pyarrow_table(columns=list(columns))
    return Counter(_plain(row[name] for name in columns) for row in read.to_pylist())


def _plain(values: Iterable[Any]) -> tuple[Any, ...]:
    """A row as the transforms in plain Python give it."""
    return tuple(
        clock(value.astimezone(UTC)) if isinstance(value, datetime) else value for value in values
    )


def _lines(typed: FileIO) -> Iterator[bytes | None]:
    """A line that was typed, an empty one at the end, or None where a pause has passed."""
    asked = selectors.DefaultSelector()
    asked.register(typed, selectors.EVENT_READ)
    while True:
        yield typed.readline() if asked.select(PAUSE) else None


def main(root: str, folder: str, dsn: str | None = None) -> None:
    reader = CampaignReader(Path(root), Path(folder), dsn)
    # Without a buffer, in which a second line could wait unseen.
    typed = FileIO(sys.stdin.fileno(), closefd=False)
    for line in _lines(typed):
        if line == b"":
            return
        try:
            reader.look()
        except Exception as error:  # noqa: BLE001 - it is what readers would meet
            reader.found.strays.append(f"a look ended with {type(error).__name__}: {error}")
        if line is not None:
            print(json.dumps(vars(reader.found)), flush=True)
        if line == b"settle\n":
            reader.settle()
        elif line == b"power\n":
            typed.readline()
            reader.go_back()


if __name__ == "__main__":
    main(*sys.argv[1:])
