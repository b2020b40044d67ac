"""Modes `update` and `complete` in databases: what the Delta table would hold, they hold."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.support.histories.net_history_builder import NetHistory, count, hour
from tests.support.warehouse import Warehouse
from tidemill.contract.report import Outcome

NAMES = ("action", "count")


def history_of(tmp_path: Path, warehouse: Warehouse, mode: str = "update") -> NetHistory:
    targets = f"publish: [{{kind: delta}}, {warehouse.target()}]"
    return NetHistory(tmp_path / "pipeline", mode=mode, more=targets)


def same(history: NetHistory, warehouse: Warehouse) -> Counter[tuple[object, ...]]:
    """The rows of the database's table, which are those of the Delta table."""
    found = warehouse.rows(*NAMES)
    delta = Counter(tuple(row[name] for name in NAMES) for row in history.published())
    assert found == delta
    return found


def test_increments_are_upserted_in_order(tmp_path: Path, warehouse: Warehouse) -> None:
    history = history_of(tmp_path, warehouse)
    history.increment([count("open", 1, 1), count("close", 1, 1)])
    history.increment([count("open", 1, 2), count("close", 1, 9)], outcome="held")
    history.increment([count("open", 1, 3)])
    assert history.publish().outcome is Outcome.DONE
    assert same(history, warehouse) == Counter([("open", 1), ("close", 1)])

    history.release(2)
    assert history.publish().outcome is Outcome.DONE
    assert same(history, warehouse) == Counter([("open", 3), ("close", 9)])


def test_an_increment_without_rows_moves_the_head_alone(
    tmp_path: Path, warehouse: Warehouse
) -> None:
    history = history_of(tmp_path, warehouse)
    history.increment([count("open", 1, 1)])
    history.batch([], inputs=[])
    history.seal()
    history.judge(2)
    history.increment([count("open", 1, 2)])

    assert history.publish().outcome is Outcome.DONE
    assert same(history, warehouse) == Counter([("open", 2)])


def test_the_whole_result_replaces_what_was_there(tmp_path: Path, warehouse: Warehouse) -> None:
    history = history_of(tmp_path, warehouse, "complete")
    history.increment([count("open", 1, 1), count("close", 1, 1)])
    history.increment([count("open", 1, 2)])

    assert history.publish().outcome is Outcome.DONE
    assert same(history, warehouse) == Counter([("open", 2)])
    assert history.table() == [("open", hour(1), 2)]
