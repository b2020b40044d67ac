"""Times, sizes and numbers as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tidemill.contract.counted import bytes_in_words, counted
from tidemill.reporting.words import age_in_words, ago, share, time_in_words, whole_number

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (timedelta(seconds=59), "less than a minute"),
        (timedelta(minutes=1), "1 minute"),
        (timedelta(hours=2, minutes=59), "2 hours"),
        (86_400.0, "1 day"),
        (timedelta(days=1500), "1,500 days"),
    ],
)
def test_an_age_is_told_in_its_greatest_unit(age: timedelta | float, words: str) -> None:
    assert age_in_words(age) == words


@pytest.mark.parametrize(
    ("size", "words"),
    [(None, "–"), (0, "0 bytes"), (999, "999 bytes"), (1_500, "1.5 kB"), (2e18, "2,000.0 PB")],
)
def test_a_size_has_the_unit_that_keeps_it_short(size: float | None, words: str) -> None:
    assert bytes_in_words(size) == words


@pytest.mark.parametrize(
    ("part", "words"), [(None, "–"), (0.0, "0.0 %"), (0.0001, "< 0.1 %"), (0.25, "25.0 %")]
)
def test_a_share_that_is_not_0_never_looks_like_it(part: float | None, words: str) -> None:
    assert share(part) == words


def test_what_is_unknown_is_a_dash() -> None:
    assert {time_in_words(None), ago(None, NOON), whole_number(None)} == {"–"}


def test_times_and_numbers_are_written_out() -> None:
    assert time_in_words(NOON) == "2026-03-01 12:00 UTC"
    assert ago(NOON, NOON + timedelta(hours=3)) == "3 hours ago"
    assert whole_number(1_234_567) == "1,234,567"
    assert (counted(1, "batch", "batches"), counted(2, "batch", "batches")) == (
        "1 batch",
        "2 batches",
    )
