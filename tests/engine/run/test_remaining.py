"""What is left of the input that waited, and how long that will take."""

from __future__ import annotations

import pytest

from tests.support.histories.history_builder import History, rows
from tidemill.engine.run.remaining import Remaining
from tidemill.sources.probe_result import ProbeResult


@pytest.fixture
def history(history: History) -> History:
    """Two batches, of two files and of one."""
    for number, files in enumerate((["a.csv", "b.csv"], ["c.csv"])):
        history.batch(rows(number), inputs=[history.arrive(name) for name in files])
    return history


def test_the_share_grows_with_each_batch_and_tells_the_time(history: History) -> None:
    remaining = Remaining({"orders": ProbeResult("orders", 4, "files")})
    assert (remaining.done, remaining.seconds_left(30)) == (0.0, None)
    shares = []
    for batch in history.ledger.batches():
        remaining.take(batch)
        shares.append((remaining.done, remaining.seconds_left(30)))
    assert shares == [(0.5, 30.0), (0.75, 10.0)]


def test_the_source_that_has_read_least_of_its_own_counts(history: History) -> None:
    looks = {
        "orders": ProbeResult("orders", 3, "files"),
        "prices": ProbeResult("prices", 8, "files"),
    }
    remaining = Remaining(looks)
    for batch in history.ledger.batches():
        remaining.take(batch)
    assert remaining.units == {"orders": 0, "prices": 8}
    assert remaining.done == 0.0


@pytest.mark.parametrize("new", [None, 0])
def test_where_nothing_can_be_counted_no_share_is_made_up(new: int | None) -> None:
    remaining = Remaining({"orders": ProbeResult("orders", new, "records")})
    assert (remaining.done, remaining.seconds_left(30)) == (None, None)
