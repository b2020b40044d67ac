"""An excerpt says the same of its increments as the whole snapshot, and reads no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories.history_builder import History, rows
from tidemill.increments.excerpt import Excerpt
from tidemill.increments.status import read_increments


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Six published increments, a held one, and two that wait behind it."""
    history = History(tmp_path_factory.mktemp("history"))
    for number in range(6):
        history.increment(rows(number))
    history.publish()
    history.increment(rows(6), outcome="held")
    history.increment(rows(7))
    history.increment(rows(8))
    return history


@pytest.mark.parametrize("count", [1, 4, 100])
def test_the_newest_increments_have_the_states_that_they_have_in_the_whole(
    history: History, count: int
) -> None:
    whole = read_increments(history.snapshot)
    part = read_increments(Excerpt.of_newest(history.layout, count))
    assert part == whole[-len(part) :]
    assert len(part) >= min(count, len(whole))


def test_one_that_is_held_is_read_however_many_came_after_it(history: History) -> None:
    part = read_increments(Excerpt.of_newest(history.layout, 1))
    assert [(one.increment, one.state, one.behind) for one in part] == [
        (7, "held", None),
        (8, "passed", 7),
        (9, "passed", 7),
    ]


def test_older_increments_are_not_read(history: History, tmp_path: Path) -> None:
    torn = history.increments.folder_of(2) / "sealed.json"
    content = torn.read_text()
    torn.write_text("{")
    try:
        part = Excerpt.of_newest(history.layout, 4)
        assert [one.number for one in part.increments] == [6, 7, 8, 9]
    finally:
        torn.write_text(content)
