"""Durations and sizes: as people write them, and nothing that could mean two things."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from tidemill.contract.syntax.quantities import (
    Duration,
    Size,
    as_interval,
    as_time_string,
    in_words,
)

DURATION: TypeAdapter[timedelta] = TypeAdapter(Duration)
SIZE: TypeAdapter[int] = TypeAdapter(Size)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0s", timedelta(0)),
        ("90 s", timedelta(seconds=90)),
        ("5m", timedelta(minutes=5)),
        ("5 min", timedelta(minutes=5)),
        ("1 minute", timedelta(minutes=1)),
        ("6h", timedelta(hours=6)),
        ("36 hours", timedelta(hours=36)),
        ("1 day", timedelta(days=1)),
        ("2d", timedelta(days=2)),
        (" 1 week ", timedelta(weeks=1)),
        ("500 milliseconds", timedelta(milliseconds=500)),
        ("1 hour 30 minutes", timedelta(minutes=90)),
        ("1h30m", timedelta(minutes=90)),
        # As Spark's watermark counts them.
        ("1 month", timedelta(days=31)),
        ("2 years 5 months", timedelta(days=29 * 31)),
    ],
)
def test_a_duration_is_a_whole_number_and_a_unit(text: str, expected: timedelta) -> None:
    assert DURATION.validate_python(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "day",
        "1.5h",
        "-1 day",
        "+1 day",
        "1 D",
        "1h30",
        "1 hour and 5 minutes",
        "PT1H",
    ],
)
def test_any_other_text_is_no_duration(text: str) -> None:
    with pytest.raises(ValidationError):
        DURATION.validate_python(text)


@pytest.mark.parametrize("value", [60, 1.5, -1, True, None, ["1h"]])
def test_a_number_without_a_unit_is_no_duration(value: Any) -> None:
    with pytest.raises(ValidationError):
        DURATION.validate_python(value)


def test_a_duration_that_no_clock_can_hold_is_refused() -> None:
    with pytest.raises(ValidationError):
        DURATION.validate_python("99999999999999999999 weeks")


@pytest.mark.parametrize(
    ("text", "interval", "option"),
    [
        ("90 s", "90 seconds", "90s"),
        ("1s 500ms", "1500 milliseconds", "1500ms"),
        ("0s", "0 seconds", "0s"),
    ],
)
def test_spark_is_given_seconds_or_milliseconds(text: str, interval: str, option: str) -> None:
    duration = DURATION.validate_python(text)
    assert (as_interval(duration), as_time_string(duration)) == (interval, option)


def test_a_timedelta_is_a_duration() -> None:
    assert DURATION.validate_python(timedelta(hours=1)) == timedelta(hours=1)


@pytest.mark.parametrize(
    ("given", "expected"),
    [("0 B", 0), ("512 KiB", 2**19), ("256MiB", 2**28), ("1 GiB", 2**30), ("2 TiB", 2**41), (7, 7)],
)
def test_a_size_is_bytes_or_has_a_binary_unit(given: Any, expected: int) -> None:
    assert SIZE.validate_python(given) == expected


@pytest.mark.parametrize(
    "given", ["", "5", "1 MB", "1 kib", "1.5 MiB", "-1 B", -1, 1.5, True, None]
)
def test_anything_else_is_no_size(given: Any) -> None:
    with pytest.raises(ValidationError):
        SIZE.validate_python(given)


@pytest.mark.parametrize(
    ("duration", "said"),
    [
        (timedelta(days=1), "1 day"),
        (timedelta(hours=36), "36 hours"),
        (timedelta(minutes=90), "90 minutes"),
        (timedelta(seconds=90), "90 seconds"),
        (timedelta(0), "0 seconds"),
    ],
)
def test_a_duration_is_said_exactly(duration: timedelta, said: str) -> None:
    assert in_words(duration) == said
