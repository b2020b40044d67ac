"""A chain of three pipelines whose first input is played, with the rows that belong into it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.support.histories.chained_history import ORDERS, ChainedHistory
from tests.support.histories.generation_builder import days, made_again, next_of, rebuilt
from tests.support.histories.history_builder import History
from tests.support.sample_rows import Row
from tidemill.file_formats.delta_changes import last_before_new_rows, table_head
from tidemill.journal.partition_set import Partitions


@dataclass
class Order:
    """A row of the first input, and what code made of it.

    Args:
        code: The version of the first transform that computed it last.
        published: Whether it is published.
    """

    number: int
    day: int
    code: int
    published: bool = True

    @property
    def row(self) -> Row:
        return order(self.number * 10 + self.code % 10, self.day)


def order(number: int, day: int) -> dict[str, object]:
    """A row of the first table."""
    at = datetime(2024, 1, day, 12, tzinfo=UTC)
    return {"id": number, "at": at, "day": date(2024, 1, day)}


def without_thirds(row: Row) -> Row | None:
    """The second pipeline's transform."""
    if row["id"] // 10 % 3 == 0:
        return None
    return {"id": row["id"] * 2, "at": row["at"], "on_day": row["at"].date()}


def plus_one(row: Row) -> Row | None:
    """The third pipeline's transform."""
    return {"id": row["id"] + 1, "at": row["at"], "d": row["on_day"]}


@dataclass
class PlayedChain:
    """Three pipelines, each of which reads the one before it.

    Args:
        home: An empty folder.
        code: The version of the first transform.
    """

    home: Path
    code: int = 0
    orders: list[Order] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    rebuilds: int = 0

    def __post_init__(self) -> None:
        self.first = History(self.home, columns=ORDERS)
        # It reads an increment a run, so that swaps come between any two of them.
        self.second = ChainedHistory(self.home, transform=without_thirds, files_per_batch=1)
        self.third = ChainedHistory(
            self.home,
            name="third",
            upstream="second",
            transform=plus_one,
            partition_by={"d": "on_day"},
            ddl="id long, at timestamp, on_day date",
        )

    @classmethod
    def begun(cls, home: Path, monkeypatch: pytest.MonkeyPatch) -> PlayedChain:
        """One whose second pipeline has read an increment, and which commands find."""
        chain = cls(home)
        for name, value in chain.first.environ.items():
            monkeypatch.setenv(name, value)
        chain.append(1)
        chain.second.turn()
        return chain

    # -- the first pipeline ------------------------------------------------------------------

    def append(self, day: int, *, hold: bool = False) -> None:
        """Two rows arrive, of which one is of the next day; the gate may hold them."""
        number = len(self.orders)
        new = [Order(number, day, self.code, published=False)]
        new.append(Order(number + 1, day % 3 + 1, self.code, published=False))
        self.orders += new
        rows = [one.row for one in new]
        if self.rebuilds:
            next_of(self.first, self._batches, *rows)
            self._batches += 1
            self._publish(new)
            return
        found = self.first.increment(rows, outcome="held" if hold else "passed")
        if hold or self.waiting:
            self.waiting.append(found)
            self.first.publish()
        else:
            self._publish(new)

    def release(self) -> None:
        for number in self.waiting:
            if self.first.snapshot.get(number).verdict.outcome == "held":  # type: ignore[union-attr]
                self.first.release(number)
        self.waiting = []
        self._publish(self.orders)

    def redo(self) -> None:
        """What waits is computed again by new code, and passes."""
        if not self.waiting:
            return
        self.code += 1
        tail = [one for one in self.orders if not one.published]
        rows = self._again(tail)
        covers = [self.first.snapshot.get(number).sealed for number in self.waiting]
        made_again(
            self.first,
            rows,
            kind="redo",
            run_id=f"redo-{self.code}",
            first=covers[0].first,
            last=covers[-1].last,
            supersedes=tuple(self.waiting),
        )
        self.waiting = []
        self._publish(tail)

    def backfill(self, day: int) -> None:
        """A day of what is published is computed again by new code."""
        some = [one for one in self.orders if one.published and one.day == day]
        if not some:
            return
        self.code += 1
        last = self.first.snapshot.last_published(self.first.snapshot.generation)
        made_again(
            self.first,
            self._again(some),
            run_id=f"backfill-{self.code}",
            partitions=days(f"2024-01-{day:02}"),
            generation=self.first.snapshot.generation,
            last=0 if self.rebuilds else last,
        )
        self._publish([])

    def rebuild(self) -> None:
        """Everything that arrived is computed again by new code."""
        if self.rebuilds or not any(one.published for one in self.orders):
            return
        self.code += 1
        rebuilt(self.first, self._again(self.orders))
        self.rebuilds, self._batches, self.waiting = 1, 1, []
        self._publish(self.orders)

    def _again(self, some: list[Order]) -> list[Row]:
        for one in some:
            one.code = self.code
        return [one.row for one in some]

    def _publish(self, some: list[Order]) -> None:
        self.first.publish(f"backfill-{self.code}")
        for one in some:
            one.published = True

    # -- all of them -------------------------------------------------------------------------

    @property
    def links(self) -> tuple[ChainedHistory, ChainedHistory]:
        return self.second, self.third

    def settle(self) -> None:
        """Both pipelines run until neither has anything to do."""
        while any(link.turn() for link in self.links):
            pass

    def expected(self) -> list[int]:
        """The last table: the transforms one after the other over what is published."""
        rows = (without_thirds(one.row) for one in self.orders if one.published)
        return sorted(row["id"] + 1 for row in rows if row is not None)

    def assert_only_due_differs(self) -> None:
        """What is not due is the transform of the table that published batches have read."""
        for link in self.links:
            head = table_head(link.table)
            snapshot = link.snapshot
            batches = link.ledger.batches(last=snapshot.last_published(snapshot.generation))
            if head is None or not batches:
                continue
            until = batches[-1].offsets["orders"][head.id]["0"]
            version = last_before_new_rows(link.table, head, until)
            stood = DeltaTable(link.table, version=version).to_pyarrow_table().to_pylist()
            made = [row for row in map(link.transform, stood) if row is not None]
            (column,) = link.partition_by
            due = [
                part
                for one in link.due()
                for part in (one.partitions, one.waiting, one.under_way)
                if part
            ]
            assert _by_partition(made, column, due) == _by_partition(link.published(), column, due)


def _by_partition(rows: list[Row], column: str, due: list[Partitions]) -> Counter[object]:
    """The rows of partitions that are not due."""
    return Counter(
        (row["id"], row[column])
        for row in rows
        if not any(some.hold({column: str(row[column])}) for some in due)
    )
