"""Mode `complete`: each increment replaces all rows, in one commit."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.histories.history_builder import reject
from tests.support.histories.net_history_builder import NetHistory, count, hour


@pytest.fixture
def history(tmp_path: Path) -> NetHistory:
    return NetHistory(tmp_path / "pipeline", mode="complete", keys=())


def test_the_last_batch_is_the_whole_table(history: NetHistory) -> None:
    history.increment([count("open", 1, 1), count("close", 1, 1)])
    history.publish()
    history.batch([count("open", 1, 2), count("close", 1, 1)], [reject("a")])
    history.batch([count("open", 1, 3)], [reject("b")])
    sealed = history.seal()
    history.judge(2)
    history.publish()

    assert (sealed.rows, sealed.rejected) == (1, 2)
    assert history.table() == [("open", hour(1), 3)]
    assert history.records() == ["a", "b"]


def test_equal_rows_are_all_there(history: NetHistory) -> None:
    history.increment([count("open", 1, 1), count("open", 1, 1)])
    history.publish()

    assert history.table() == [("open", hour(1), 1)] * 2


def test_partitions_that_are_no_more_are_gone(tmp_path: Path) -> None:
    history = NetHistory(
        tmp_path / "pipeline", mode="complete", keys=(), partitions={"place": pa.string()}
    )
    history.increment([count("open", 1, 1, place=place) for place in ("a b", "c/d")])
    history.publish()
    history.increment([count("open", 1, 2, place="c/d")])
    history.publish()

    assert history.table() == [("open", hour(1), 2, "c/d")]


def test_a_released_increment_without_rows_empties_the_table(history: NetHistory) -> None:
    history.increment([count("open", 1, 1)])
    history.publish()
    history.increment([], [reject("a")], outcome="held")
    history.release(2)
    history.publish()

    assert history.table() == []


def test_readers_of_an_older_version_still_see_it(history: NetHistory) -> None:
    for number in (1, 2):
        history.increment([count("open", 1, number)])
        history.publish()

    rows = history.delta(0).to_pyarrow_table().to_pylist()
    assert rows == [count("open", 1, 1)]
