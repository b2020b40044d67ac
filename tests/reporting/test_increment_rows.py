"""The rows of one increment are shown in every output mode, and no more of them than asked for."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tests.support.histories.history_builder import History, reject, rows
from tests.support.histories.net_history_builder import NetHistory, count, hour
from tidemill.reporting.increment_rows import read_increment_rows

# In days since 1970: the year 12926.
FAR_DAY = 4_001_900


def test_in_mode_update_the_rows_are_those_that_go_out(tmp_path: Path) -> None:
    history = NetHistory(tmp_path / "pipeline")
    history.batch([count("open", 1, 1)])
    history.batch([count("open", 1, 2)])
    number = history.seal().increment
    history.judge(number)

    found = read_increment_rows(history.layout, number, 10)

    assert found.rows == ({"action": "open", "hour": hour(1), "count": 2},)


def test_the_limit_bounds_the_rows_of_several_files(tmp_path: Path) -> None:
    history = History(tmp_path / "pipeline")
    history.batch(rows(1, 2), [reject("bad line")])
    history.batch(rows(3))
    number = history.seal().increment
    history.judge(number)

    found = read_increment_rows(history.layout, number, 2)

    assert (len(found.rows), found.total) == (2, 3)


def test_a_date_that_python_cannot_hold_is_shown_as_text(tmp_path: Path) -> None:
    history = NetHistory(tmp_path / "pipeline")
    history.start(history.columns.append(pa.field("far", pa.date32())))
    number = history.increment([count("open", 1, 1, far=FAR_DAY)])

    (row,) = read_increment_rows(history.layout, number, 1).rows

    assert "12926" in row["far"]
