"""What the generators share: files that appear whole and in order, late events, a command line."""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
# Spark reads files in the order of their times, of which it sees milliseconds.
TICK_NS = 2_000_000


def place(target: Path, lines: Iterable[str]) -> Path:
    """Write a file of lines, whole or not at all, as the newest of its folder.

    Args:
        target: Its folder is created if need be.
        lines: Without their ends.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    newest = max((path.stat().st_mtime_ns for path in target.parent.iterdir()), default=0)
    draft = target.with_name(f".{target.name}")
    draft.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    later = max(draft.stat().st_mtime_ns, newest + TICK_NS)
    os.utime(draft, ns=(later, later))
    return draft.replace(target)


def place_json(target: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """The same with a JSON object per line."""
    return place(target, (json.dumps(row) for row in rows))


def chance_of(seed: int, number: int) -> random.Random:
    """What a file's content is drawn with: the same for the same seed and number."""
    return random.Random(seed * 1000 + number)  # noqa: S311 - repeatable, not secret


def times(
    chance: random.Random, number: int, period: timedelta, count: int, late: Sequence[timedelta]
) -> list[datetime]:
    """When the events of a file happened: within its period, out of order, a few earlier.

    Args:
        chance: Drawn from.
        number: The file's number, from 1; each covers the period after that of the one before.
        period: The time that one file covers.
        count: How many events.
        late: By how much the late ones are too late, one each.
    """
    begin = START + (number - 1) * period
    seconds = int(period.total_seconds())
    found = [begin + timedelta(seconds=chance.randrange(seconds)) for _ in range(count)]
    for place_of_late, delay in enumerate(late):
        found[place_of_late] -= delay
    chance.shuffle(found)
    return found


def as_text(time: datetime) -> str:
    """A time as feeds write it."""
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def command(description: str | None, write: Callable[..., object]) -> None:
    """The command line of a generator.

    Args:
        description: Its module's docstring.
        write: Takes a folder, a file's number from 1, and `seed`.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    for number in range(1, given.files + 1):
        write(given.folder, number, seed=given.seed)
