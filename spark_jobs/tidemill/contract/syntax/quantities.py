"""Durations and byte sizes as people write them in a spec: `6h`, `1 day`, `256 MiB`."""

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from tidemill.contract.counted import counted

# Unit -> milliseconds. Spark's watermark takes a month for 31 days and a year for 12 months.
_UNITS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "second", "seconds"), 1_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
    **dict.fromkeys(("w", "week", "weeks"), 7 * 86_400_000),
    **dict.fromkeys(("month", "months"), 31 * 86_400_000),
    **dict.fromkeys(("year", "years"), 12 * 31 * 86_400_000),
}
_PART = rf"(\d+)\s*({'|'.join(sorted(_UNITS, key=len, reverse=True))})"
_DURATION = re.compile(rf"{_PART}(\s*{_PART})*")
_SIZE = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB|TiB)")
_BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def parse_duration(value: Any) -> timedelta:
    """`"1 hour 30 minutes"` -> `timedelta(minutes=90)`; a number alone could be seconds or days.

    Raises:
        ValueError: it is not whole numbers with units, or more than `timedelta` can hold.
    """
    if isinstance(value, timedelta):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if not _DURATION.fullmatch(text):
        msg = "write a whole number and a unit, such as '30 minutes', '6h' or '1 day 12 hours'"
        raise ValueError(msg)
    try:
        return timedelta(
            milliseconds=sum(int(n) * _UNITS[unit] for n, unit in re.findall(_PART, text))
        )
    except OverflowError as error:
        msg = f"'{value}' is longer than any clock can tell"
        raise ValueError(msg) from error


def as_interval(duration: timedelta) -> str:
    """A duration as Spark's SQL writes an interval: `90 seconds`, or `1500 milliseconds`."""
    milliseconds = duration // timedelta(milliseconds=1)
    seconds, rest = divmod(milliseconds, 1000)
    return f"{milliseconds} milliseconds" if rest else f"{seconds} seconds"


def as_time_string(duration: timedelta) -> str:
    """A duration as Spark's options take it: `90s`, or `1500ms`."""
    return as_interval(duration).replace(" milliseconds", "ms").replace(" seconds", "s")


def in_words(duration: timedelta) -> str:
    """A duration in the greatest unit that measures it, such as `36 hours`."""
    for unit in ("day", "hour", "minute"):
        length = timedelta(**{f"{unit}s": 1})
        if duration and not duration % length:
            return counted(duration // length, unit)
    return as_interval(duration)


def parse_size(value: Any) -> int:
    """`"256 MiB"` -> bytes; a plain number is bytes already.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        msg = "write a whole number and a unit, such as '512 KiB' or '256 MiB'"
        raise ValueError(msg)
    return int(match[1]) * _BYTES[match[2]]


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    WithJsonSchema({"type": "string", "pattern": f"^{_DURATION.pattern}$", "examples": ["1 day"]}),
]
Size = Annotated[
    int,
    BeforeValidator(parse_size),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": f"^{_SIZE.pattern}$"},
            ],
            "examples": ["256 MiB"],
        }
    ),
]


def sum_if_known(amounts: Iterable[int | None]) -> int | None:
    """The sum of amounts; None where one of them is unknown."""
    total = 0
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total
