"""A pipeline's page knows its newest increments, what waits, its targets and its sources."""

from __future__ import annotations

from pathlib import Path

from tests.support.histories.history_builder import History, rows
from tidemill.reporting.effective_spec import effective_spec
from tidemill.reporting.pipeline_history import read_history


def test_the_newest_increments_come_first_and_what_waits_stands_apart(tmp_path: Path) -> None:
    history = History(tmp_path)
    for number in range(3):
        history.increment(rows(number))
    history.publish("run-3")
    history.increment(rows(3), outcome="held")
    history.increment(rows(4))

    found = read_history(history.layout, ["delta"], 3)

    assert [one.status.increment for one in found.increments] == [5, 4, 3]
    assert [one.status.increment for one in found.waiting] == [4, 5]
    assert [one.status.version for one in found.increments] == [None, None, 2]
    assert set(found.increments[2].seconds) == {"publish"}
    (head,) = found.targets
    assert (head.increment, head.version, head.behind) == (3, 2, 0)
    (position,) = found.positions
    assert position.newest_file is not None
    assert position.newest_file.endswith("f0004.csv")


def test_a_pipeline_that_never_ran_has_a_page(tmp_path: Path) -> None:
    found = read_history(History(tmp_path).layout, ["delta"])
    assert (found.increments, found.waiting, found.batches) == ((), (), 0)


def test_each_setting_says_which_line_gave_it(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.write_spec(inputs='"${FEED}"', more="env: {FEED: /secret/feed}")

    settings = {one.field: one for one in effective_spec(history.pipeline)}

    assert settings["sources.orders.path"].value == "${FEED}"
    assert settings["sources.orders.path"].line == 2
    assert (settings["gate.empty"].value, settings["gate.empty"].line) == ("hold_input", None)
