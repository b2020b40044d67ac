"""Which events touch the partitions that a swap replaces, in a mode that replaces rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories.history_builder import History, reject, rows
from tests.support.histories.net_history_builder import NetHistory, count
from tidemill.increments.swap_order import touches
from tidemill.journal.partition_set import Partitions


@pytest.mark.parametrize(
    ("partitions", "expected"),
    [
        (Partitions(columns=("action",), values=(("open",),)), True),
        (Partitions(columns=("action",), values=(("close",),)), False),
        # Spark and Arrow write a time as different texts, so it may be one of them.
        (Partitions(columns=("hour",), values=(("2024-01-01 09:00:00",),)), True),
        (Partitions(), True),
    ],
    ids=["its value", "another value", "a time", "the whole table"],
)
def test_an_update_touches_the_partitions_of_its_rows(
    tmp_path: Path, partitions: Partitions, expected: bool
) -> None:
    history = NetHistory(tmp_path / "pipeline")
    history.increment([count("open", 1, 1)])
    history.publish()
    (event,) = history.journal.events()

    assert touches(history.layout, event, partitions) is expected


def test_rejected_rows_touch_no_partition(tmp_path: Path) -> None:
    history = History(tmp_path / "pipeline")
    history.increment(rows(1), [reject("bad line")])
    history.publish()
    (event,) = history.journal.events()
    day = Partitions(columns=("day",), values=(("2024-01-01",),))

    assert touches(history.layout, event, day)
    assert not touches(history.layout, event.model_copy(update={"kind": "reject"}), day)
