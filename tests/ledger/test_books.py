"""Books of batches add up, or say by how much they do not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.support.batches import batch_of
from tidemill.ledger.batch import Batch, RowsPerRow
from tidemill.ledger.books import Books, books_of
from tidemill.ledger.late_rows import LateCount, LateRows

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def batch(
    rows_in: int | None, good: int, rejected: int, per_row: RowsPerRow = "at_most_one"
) -> Batch:
    return batch_of(0, rows_in=rows_in, rows=good, rejected=rejected, rows_per_row=per_row)


def test_what_a_filter_left_out_is_the_rest() -> None:
    books = books_of([batch(10, 7, 1), batch(5, 5, 0, "one")])
    assert (books.filtered, books.amiss) == (2, 0)
    assert str(books) == "15 rows in = 12 good + 1 rejected + 0 late + 2 filtered"


@pytest.mark.parametrize(
    ("rows_in", "per_row", "amiss"),
    [(10, "one", 2), (7, "one", -1), (10, "at_most_one", 0), (7, "at_most_one", -1), (7, "any", 0)],
)
def test_books_that_do_not_add_up_say_by_how_much(
    rows_in: int, per_row: RowsPerRow, amiss: int
) -> None:
    assert books_of([batch(rows_in, 7, 1, per_row)]).amiss == amiss


def test_no_sum_is_claimed_where_a_row_may_become_several_or_wait_in_a_state() -> None:
    late = LateRows(batch=0, watermark_ms=0, counts=(LateCount(operator="a", source="s", rows=3),))
    books = books_of([batch(10, 40, 1, "any")], [late])
    assert (books.late, books.filtered, books.amiss) == (3, None, 0)
    assert str(books) == "10 rows in; 40 good, 1 rejected, 3 late"


def test_an_unknown_term_is_said_and_not_guessed() -> None:
    books = books_of([batch(None, 7, 1), batch(4, 4, 0)])
    assert (books.rows_in, books.filtered, books.amiss) == (None, None, 0)
    assert Books(rows_in=3, good=3, rejected=0, late=None).late is None
