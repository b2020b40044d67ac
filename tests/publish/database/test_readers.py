"""Whoever reads a database's table while it is written sees whole increments, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pytest

from tests.support.concurrent_reader import ConcurrentReader, State, state_of
from tests.support.histories.history_builder import History, row, rows
from tests.support.warehouse import Warehouse
from tidemill.contract.report import Outcome
from tidemill.publish.database import postgres_target
from tidemill.publish.database.postgres_session import PostgresSession

Make = Callable[..., History]
INCREMENTS = 5
QUERIES = ("SELECT id, text FROM orders", "SELECT last_batch FROM tidemill_heads")


def reader_of(warehouse: Warehouse) -> ConcurrentReader:
    return ConcurrentReader(warehouse.connect, *QUERIES, begin=warehouse.snapshot)


def prefixes(*states: Iterable[tuple[int, str]]) -> list[State]:
    """What may be seen: nothing yet, no row yet, and the table after each increment."""
    known = [state_of([], []), state_of([], [(-1,)])]
    return known + [state_of(found, [(batch,)]) for batch, found in enumerate(states)]


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_readers_see_whole_increments(make_history: Make, warehouse: Warehouse, mode: str) -> None:
    target = warehouse.target(mode=mode)
    history = make_history(output=", keys: [id]", more=f"publish: [{target}]")
    table: dict[int, str] = {}
    states = []
    with reader_of(warehouse) as reader:
        for number in range(INCREMENTS):
            ids = range(100) if mode == "upsert" else range(number * 100, number * 100 + 100)
            changed = [row(n, text=f"{n} in {number}") for n in ids]
            table |= {one["id"]: one["text"] for one in changed}
            states.append(list(table.items()))
            history.increment(changed)
            assert history.publish().outcome is Outcome.DONE
            reader.look()
    allowed = prefixes(*states)
    assert reader.strays(allowed) == []
    assert [state for state in allowed if state in reader.states][-INCREMENTS:] == allowed[2:]


class Careless(PostgresSession):
    """A writer that commits each statement by itself, and takes its time between them."""

    pause: Callable[[], None]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        yield

    def load(self, into: str, columns: Sequence[str], chunks: Iterable[pa.RecordBatch]) -> int:
        taken = 0
        for chunk in chunks:
            half = chunk.num_rows // 2
            for part in (chunk.slice(0, half), chunk.slice(half)):
                taken += super().load(into, columns, [part])
                self.pause()
        return taken


@pytest.mark.parametrize("warehouse", ["postgres"], indirect=True)
def test_the_reader_catches_a_writer_without_transactions(
    make_history: Make, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = make_history(more=f"publish: [{warehouse.target()}]")
    history.increment(rows(1, 2))
    monkeypatch.setattr(postgres_target, "PostgresSession", Careless)
    with reader_of(warehouse) as reader:
        monkeypatch.setattr(Careless, "pause", lambda _: reader.look(), raising=False)
        assert history.publish().outcome is Outcome.DONE
    torn = [((1, "row 1"),), ((1, "row 1"), (2, "row 2"))]
    assert reader.strays(prefixes([(1, "row 1"), (2, "row 2")])) == [
        state_of(found, [(-1,)]) for found in torn
    ]
