"""Two runs are compared by the rows that readers find, whatever files they are in."""

from __future__ import annotations

from pathlib import Path

from tests.support.histories.history_builder import History, reject, rows
from tidemill.steps.read_only.drill.drill import compare

FILES = "publish: [{kind: delta}, {kind: files}]"


def history(
    home: Path, *increments: tuple[int, ...], rejected: tuple[str, ...] = (), by: int = 0
) -> History:
    """A pipeline that has published increments of rows with these ids.

    Args:
        rejected: The records that one of them rejects.
        by: Which.
    """
    home.mkdir()
    found = History(home, more=FILES)
    for number, ids in enumerate(increments):
        refused = [reject(record) for record in rejected] if number == by else []
        found.increment(rows(*ids), refused)
        found.publish()
    return found


def differences(one: History, other: History) -> dict[str, tuple[int, int, int]]:
    """Table -> its rows in the first, how many of them the second lacks, how many it has more."""
    found = compare(one.layout, other.layout, 10)
    return {each.table: (each.rows, each.apart.removed, each.apart.added) for each in found}


def test_the_same_rows_in_other_increments_are_equal(tmp_path: Path) -> None:
    one = history(tmp_path / "one", (1, 2), (3,))
    other = history(tmp_path / "other", (3,), (2, 1))
    found = differences(one, other)
    assert (found["table"], found["published"]) == ((3, 0, 0), (3, 0, 0))
    assert all(each.equal for each in compare(one.layout, other.layout, 10))


def test_a_row_that_is_missing_and_one_that_is_there_twice_are_differences(tmp_path: Path) -> None:
    one, other = history(tmp_path / "one", (1, 2, 3)), history(tmp_path / "other", (1, 3), (3,))
    found = differences(one, other)
    assert (found["table"], found["published"]) == ((3, 1, 1), (3, 1, 1))
    (first, *_) = compare(one.layout, other.layout, 10)
    assert [(row["change"], row["id"]) for row in first.apart.rows] == [("-", 2), ("+", 3)]
    assert not first.equal


def test_a_table_that_only_one_run_has_is_a_difference(tmp_path: Path) -> None:
    one = history(tmp_path / "one", (1,), rejected=("bad", "worse"))
    other = history(tmp_path / "other", (1,))
    assert differences(one, other)["rejected"] == (2, 2, 0)
    assert differences(other, one)["rejected"] == (0, 0, 2)


def test_rejected_rows_are_the_same_whichever_batch_has_rejected_them(tmp_path: Path) -> None:
    one = history(tmp_path / "one", (1,), (2,), rejected=("bad", "worse"), by=0)
    other = history(tmp_path / "other", (1,), (2,), rejected=("worse", "bad"), by=1)
    assert differences(one, other)["rejected"] == (2, 0, 0)
