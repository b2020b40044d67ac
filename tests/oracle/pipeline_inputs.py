"""What a pipeline's histories are made of: its rows, their times, its static inputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hypothesis import strategies as st

from tests.oracle.times import MINUTE, time_of_ms

NOON = 1_772_366_400_000
Rows = Callable[[str], st.SearchStrategy[Any]]


@dataclass(frozen=True)
class Minute:
    """A time within a round, which the history makes a time of the day."""

    minute: int


def time_of_minute(minute: int) -> datetime:
    """The time that a minute of a history is."""
    return time_of_ms(NOON + minute * MINUTE)


def said(minute: int) -> str:
    """The same as ISO time."""
    return time_of_minute(minute).isoformat()


def as_json(rows: Sequence[Any]) -> list[str]:
    """Rows as lines of JSON; a text is a line already."""
    return [row if isinstance(row, str) else json.dumps(row) for row in rows]


@dataclass(frozen=True)
class Kind:
    """What a pipeline's histories are made of.

    Args:
        rows: The rows of a source: dicts, with `Minute` for times, or texts that are not rows.
        sources: Their names.
        step: Minutes by which each round is later than the one before.
        span: Minutes over which the rows of one round are spread.
        time: The column of the event time.
        late: A row without its time, whose lateness alone decides whether it counts; None where
            nothing is ever late.
        lines: Makes the lines of a file.
        statics: Files under the input, with their lines, as they are at first.
        changes: Path and new lines of one of them.
    """

    rows: Rows
    sources: Sequence[str]
    step: int = 10
    span: int = 30
    time: str = "at"
    late: Mapping[str, Any] | None = None
    lines: Callable[[Sequence[Any]], list[str]] = as_json
    statics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    changes: st.SearchStrategy[tuple[str, tuple[str, ...]]] | None = None
