"""Durations and byte sizes as people write them in a spec: `6h`, `1 day`, `256 MiB`."""

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

_DURATION = re.compile(r"(\d+)\s*(s|m|min|h|d|w|seconds?|minutes?|hours?|days?|weeks?)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SIZE = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB|TiB)")
_BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def parse_duration(value: Any) -> timedelta:
    """`"90 minutes"` -> `timedelta(minutes=90)`; a number alone could be seconds or days.

    Raises:
        ValueError: it is not a whole number with a unit, or more than `timedelta` can hold.
    """
    if isinstance(value, timedelta):
        return value
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        msg = "write a whole number and a unit, such as '30 minutes', '6h' or '1 day'"
        raise ValueError(msg)
    try:
        return timedelta(seconds=int(match[1]) * _SECONDS[match[2][0]])
    except OverflowError as error:
        msg = f"'{value}' is longer than any clock can tell"
        raise ValueError(msg) from error


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
