"""Durations and byte sizes as people write them in a spec: `6h`, `1 day`, `256 MiB`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

_DURATION = re.compile(r"(\d+)\s*(s|m|min|h|d|w|seconds?|minutes?|hours?|days?|weeks?)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SIZE = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB|TiB)")
_BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def parse_duration(value: Any) -> Any:
    """`"90 minutes"` -> `timedelta(minutes=90)`; anything but text is left to pydantic."""
    if not isinstance(value, str):
        return value
    match = _DURATION.fullmatch(value.strip())
    if match is None:
        msg = "write a whole number and a unit, such as '30 minutes', '6h' or '1 day'"
        raise ValueError(msg)
    return timedelta(seconds=int(match[1]) * _SECONDS[match[2][0]])


def parse_size(value: Any) -> Any:
    """`"256 MiB"` -> bytes; a plain number is bytes already."""
    if not isinstance(value, str):
        return value
    match = _SIZE.fullmatch(value.strip())
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
            "anyOf": [{"type": "integer"}, {"type": "string", "pattern": f"^{_SIZE.pattern}$"}],
            "examples": ["256 MiB"],
        }
    ),
]
