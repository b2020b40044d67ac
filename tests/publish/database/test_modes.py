"""Modes update and complete: a database's table equals the result after each increment."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.support.concurrent_reader import ConcurrentReader, state_of
from tests.support.histories.history_builder import reject
from tests.support.histories.net_history_builder import NetHistory, count
from tests.support.warehouse import Warehouse
from tidemill.contract.report import Outcome


def make(home: Path, warehouse: Warehouse, mode: str, keys: tuple[str, ...] = ()) -> NetHistory:
    more = f"publish: [{{kind: delta}}, {warehouse.target()}]"
    return NetHistory(home / "pipeline", mode=mode, keys=keys, more=more)


def equal(history: NetHistory, warehouse: Warehouse) -> Counter[tuple[object, ...]]:
    """The rows of the database's table, which are those of Delta."""
    found = warehouse.rows("action", "count")
    assert found == Counter((action, number) for action, _, number in history.table())
    return found


def test_update_upserts_by_key(tmp_path: Path, warehouse: Warehouse) -> None:
    history = make(tmp_path, warehouse, "update", ("action", "hour"))
    history.increment([count("open", 1, 3), count("close", 1, 1)])
    history.batch([count("open", 1, 4), count("open", 2, 1)], [reject("bad")])
    history.batch([count("open", 1, 5)])
    history.judge(history.seal().increment)
    assert history.publish().outcome is Outcome.DONE
    assert equal(history, warehouse) == Counter([("open", 5), ("close", 1), ("open", 1)])
    assert {batch for (batch,) in warehouse.rows("_tidemill_batch")} == {0, 2}


def test_complete_replaces_all(tmp_path: Path, warehouse: Warehouse) -> None:
    history = make(tmp_path, warehouse, "complete")
    history.increment([count("open", 1, 1), count("open", 1, 1), count("close", 1, 1)])
    history.publish()
    assert equal(history, warehouse) == Counter([("open", 1), ("open", 1), ("close", 1)])
    history.increment([count("open", 1, 3)])
    history.publish()
    assert equal(history, warehouse) == Counter([("open", 3)])
    history.increment([], [reject("bad")], outcome="held")
    history.release(3)
    history.publish()
    assert equal(history, warehouse) == Counter()


def test_readers_never_see_a_table_that_is_being_replaced(
    tmp_path: Path, warehouse: Warehouse
) -> None:
    history = make(tmp_path, warehouse, "complete")
    history.increment([count("open", n, 1) for n in range(1, 4)])
    history.publish()
    query = "SELECT action, count FROM orders"
    with ConcurrentReader(warehouse.connect, query, begin=warehouse.snapshot) as reader:
        for number in range(2, 8):
            history.increment([count("open", 1, number), count("close", 1, number)])
            history.publish()
            reader.look()
    allowed = [state_of([("open", n), ("close", n)]) for n in range(2, 8)]
    assert reader.strays([state_of([("open", 1)] * 3), *allowed]) == []
    assert [state for state in reader.states if state in allowed] == allowed
