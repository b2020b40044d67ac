"""A budget is spent by what a query commits, and the first limit that is reached ends the run."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest

from tests.support.histories.history_builder import History, rows
from tests.support.histories.spark_log_builder import write_commit
from tidemill.engine.run.budget import Spending
from tidemill.spec.settings import Budget

SIZE = 100


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Two batches, committed before the query started."""
    history = History(tmp_path)
    one_more(history)
    one_more(history)
    return history


def one_more(history: History, *, commit: bool = True) -> None:
    number = history.written + 1
    file = history.arrive(f"{number}.csv", "x" * SIZE)
    history.batch(rows(number), inputs=[file], commit=commit)


def test_batches_of_before_cost_nothing(history: History) -> None:
    spending = Spending(Budget(max_batches=2), history.ledger)
    assert spending.used_up(Event()) is None
    one_more(history)
    assert spending.used_up(Event()) is None
    one_more(history)
    assert spending.used_up(Event()) == "budget.max_batches"


def test_a_batch_that_is_not_committed_costs_nothing_yet(history: History) -> None:
    spending = Spending(Budget(max_batches=1), history.ledger)
    one_more(history, commit=False)
    assert spending.used_up(Event()) is None


def test_bytes_are_added_up_over_batches_that_are_seen_together_or_one_by_one(
    history: History,
) -> None:
    spending = Spending(Budget(max_bytes=3 * SIZE), history.ledger)
    one_more(history)
    assert spending.used_up(Event()) is None
    # To ask again counts nothing twice.
    assert spending.used_up(Event()) is None
    one_more(history)
    one_more(history)
    assert spending.used_up(Event()) == "budget.max_bytes"


def test_the_limit_that_is_reached_first_is_named(history: History) -> None:
    spending = Spending(Budget(max_batches=9, max_bytes=SIZE), history.ledger)
    one_more(history)
    assert spending.used_up(Event()) == "budget.max_bytes"


def test_a_ledger_that_nobody_writes_any_more_is_not_waited_for(history: History) -> None:
    spending = Spending(Budget(max_bytes=1), history.ledger)
    one_more(history, commit=False)
    write_commit(history.checkpoint, history.written)
    given_up = Event()
    given_up.set()
    assert spending.used_up(given_up) is None


def test_the_bytes_of_a_batch_are_counted_once_the_ledger_has_it(history: History) -> None:
    class WrittenMeanwhile(Event):
        asked = 0

        def wait(self, timeout: float | None = None) -> bool:
            self.asked += 1
            if self.asked == 2:
                history.ledger.complete()
            return super().is_set()

    spending = Spending(Budget(max_bytes=SIZE), history.ledger)
    one_more(history, commit=False)
    write_commit(history.checkpoint, history.written)
    assert spending.used_up(WrittenMeanwhile()) == "budget.max_bytes"
