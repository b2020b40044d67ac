"""Which inputs are read again when rows are never later than a bound."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.histories.history_builder import History, reject, rows
from tidemill.engine.recompute.lateness_bound import Arrived, bounded_reads
from tidemill.engine.recompute.published_input import Read, reads_of
from tidemill.increments.exclusions import Excluded
from tidemill.journal.partition_set import Partitions

DAY = timedelta(days=1)
SECOND = Partitions(columns=("day",), values=(("2024-01-02",),))


def noon(day: int) -> datetime:
    return datetime(2024, 1, day, 12, tzinfo=UTC)


@pytest.fixture
def history(tmp_path: Path) -> History:
    """A batch a day, of a file that arrived at its noon; the last has a row of the second day."""
    history = History(tmp_path)
    for day in (1, 2, 3, 4):
        history.batch(
            rows(day, day=date(2024, 1, 2 if day == 4 else day)),
            inputs=[history.arrive(f"{day}.csv", at=noon(day))],
        )
    return history


def reads(history: History) -> list[Read]:
    last = history.ledger.latest()
    return reads_of(history.layout, "live-0001", 0, last, Excluded())


def second_day(history: History, partitions: Partitions | None, lateness: timedelta) -> Arrived:
    start = datetime(2024, 1, 2, tzinfo=UTC)
    return bounded_reads(reads(history), (start, start + DAY), lateness, partitions)


def names(found: Arrived) -> list[list[str]]:
    return [[Path(file.path).name for file in read.files] for read in found.reads]


def test_files_that_came_before_the_rows_or_too_late_for_them_are_left_out(
    history: History,
) -> None:
    found = second_day(history, None, DAY)
    assert names(found) == [[], ["2.csv"], ["3.csv"], []]
    assert (found.skipped, found.late) == (2, ())
    assert [read.whole for read in found.reads] == [False, True, True, False]


def test_a_batch_that_wrote_into_the_partitions_is_read_however_late_it_came(
    history: History,
) -> None:
    found = second_day(history, SECOND, DAY)
    assert names(found) == [[], ["2.csv"], ["3.csv"], ["4.csv"]]
    assert (found.skipped, found.late) == (1, (3,))


def test_so_is_one_with_rejected_rows_that_would_lie_there(history: History) -> None:
    late = [history.arrive("5.csv", at=noon(5)), history.arrive("6.csv", at=noon(5))]
    history.batch([], [reject("elsewhere", day="2024-01-05")], inputs=late[:1])
    history.batch([], [reject("there", day="2024-01-02")], inputs=late[1:])
    found = second_day(history, SECOND, DAY)
    assert names(found)[4:] == [[], ["6.csv"]]
    assert found.late == (3, 5)


def test_without_lateness_only_the_day_itself_counts(history: History) -> None:
    assert names(second_day(history, None, timedelta(0))) == [[], ["2.csv"], [], []]
