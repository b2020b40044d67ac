"""Readings of phones' accelerometers, as JSON with nested fields.

`python -m tidemill.samples.activity FOLDER --files 4` writes `001.json` and so on, ten minutes
each. The same seed always gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from tidemill.samples.feed import as_text, chance_of, command, place, times

PERIOD = timedelta(minutes=10)
# A phone without a net sends its readings hours later, and some of them the next day.
LATE = (timedelta(hours=2), timedelta(hours=5), timedelta(hours=18))
ROWS = 80
PHONES = {"nexus4": ("nexus4_1", "nexus4_2"), "s3mini": ("s3mini_1",)}
# How much each activity shakes a phone, in m/s².
ACTIVITIES = {"sit": 0.05, "stand": 0.1, "walk": 2.0, "bike": 3.5, "stairsup": 2.5, "null": 1.0}
GRAVITY = 9.81


def write_file(folder: Path, number: int, *, seed: int = 7) -> Path:
    """Write one file, whole or not at all.

    Args:
        folder: Created if need be.
        number: From 1.
    """
    return place(folder / f"{number:03d}.json", _lines(number, chance_of(seed, number)))


def _lines(number: int, chance: Random) -> Iterator[str]:
    for index, at in enumerate(times(chance, number, PERIOD, ROWS, LATE), (number - 1) * ROWS):
        row = _reading(index, at, chance)
        yield json.dumps(row)
        broken = chance.random()
        if broken < 0.01:
            yield json.dumps({**row, "reading": {"x": 1.0, "y": "up", "z": 1.0}})
        elif broken < 0.02:
            yield json.dumps({**row, "gt": "fly"})
        elif broken < 0.03:
            yield json.dumps({**row, "Arrival_Time": None})


def _reading(index: int, at: datetime, chance: Random) -> dict[str, Any]:
    model, devices = chance.choice(list(PHONES.items()))
    activity, shake = chance.choice(list(ACTIVITIES.items()))
    x, y, z = (round(chance.gauss(mean, shake), 4) for mean in (0, 0, GRAVITY))
    # A phone knows its own time by the nanosecond, and not before the reading was made.
    created = int(at.timestamp()) * 1_000_000_000 - chance.randrange(1_000_000_000)
    return {
        "Index": index,
        "Arrival_Time": as_text(at),
        "Creation_Time": created,
        "User": chance.choice("abcdefghi"),
        "gt": activity,
        "phone": {"model": model, "device": chance.choice(devices)},
        "reading": {"x": x, "y": y, "z": z},
        "tags": chance.choice(([], ["pocket"], ["pocket", "left"])),
    }


if __name__ == "__main__":
    command(__doc__, write_file)
