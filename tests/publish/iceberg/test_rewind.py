"""A rewind in an Iceberg table: its rows are those of the Delta table, then and afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from tests.steps.decisions.test_rewind import back_to, rewound
from tests.steps.decisions.test_rewind_targets import go_back_and_on, take_all_of_it_at_once
from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import row
from tests.support.histories.net_history_builder import NetHistory, count
from tests.support.histories.rolled_history import RolledHistory, with_transform
from tests.support.iceberg_catalogue import Catalogue
from tidemill.contract.report import Outcome

Read = Callable[[], list[int]]
SECOND = date(2024, 1, 2)


class RolledNetHistory(RolledHistory, NetHistory):
    """A pipeline whose rows are merged, and whose batches go to the live generation."""

    def count_up(self, *counts: tuple[str, int]) -> None:
        """Publish an increment with these counts of actions."""
        self.batch([count(action, 1, number) for action, number in counts])
        self.judge(self.seal().increment)
        assert self.publish().outcome is Outcome.DONE


@pytest.fixture
def target(catalogue: Catalogue) -> tuple[str, Read]:
    """A target of a spec, and what reads the ids of the rows in it."""
    return catalogue.target, catalogue.ids


def test_rows_are_those_of_the_table_after_it_and_after_the_next_publish(
    tmp_path: Path, target: tuple[str, Read]
) -> None:
    go_back_and_on(tmp_path / "pipeline", *target)


def test_a_target_that_lags_takes_all_of_it_at_once(
    tmp_path: Path, target: tuple[str, Read]
) -> None:
    take_all_of_it_at_once(tmp_path / "pipeline", *target)


def test_partitions_that_were_computed_again_before_it_stay(
    tmp_path: Path, target: tuple[str, Read]
) -> None:
    given, read = target
    more = f"publish: [{{kind: delta}}, {given}]"
    history = with_transform(RolledHistory(tmp_path / "pipeline", more=more))
    for number in (1, 2):
        history.batch([row(number), row(10 * number, SECOND)])
    history.judge(history.seal().increment)
    history.publish()
    made_again(history, [row(30, SECOND)], partitions=days("2024-01-02"))
    history.publish("again")
    history.go(3)
    rewound(history, back_to("again"))
    assert read() == history.ids() == [1, 2, 30]
    history.go(4)
    assert read() == history.ids() == [1, 2, 4, 30]


@pytest.mark.parametrize(
    ("mode", "keys", "then", "after"),
    [
        ("update", ("action", "hour"), {("open", 2), ("close", 1)}, {("open", 5), ("close", 1)}),
        ("complete", (), {("open", 2)}, {("open", 5)}),
    ],
)
def test_merged_rows_in_an_iceberg_table_are_those_of_that_time(
    tmp_path: Path,
    catalogue: Catalogue,
    mode: str,
    keys: tuple[str, ...],
    then: set[tuple[str, int]],
    after: set[tuple[str, int]],
) -> None:
    more = f"publish: [{{kind: delta}}, {catalogue.target}]"
    history = RolledNetHistory(tmp_path / "net", mode=mode, keys=keys, more=more)
    with_transform(history)
    history.count_up(("open", 1), ("close", 1))
    history.count_up(("open", 2))
    history.count_up(("open", 3), ("close", 3), ("new", 3))
    rewound(history, back_to("run-2"))
    assert catalogue.rows("action", "count") == Counter(then)
    history.count_up(("open", 5))
    assert catalogue.rows("action", "count") == Counter(after)
    assert sorted((action, int(number)) for action, _, number in history.table()) == sorted(after)
