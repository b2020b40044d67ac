"""Events of a feed that delivers at least once: some come twice, some hours later again.

`python -m tidemill.samples.unique_events FOLDER --files 4` writes `001.json` and so on, an hour
each. The same seed always gives the same bytes.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from tidemill.samples.feed import as_text, chance_of, command, place_json, times

PERIOD = timedelta(hours=1)
# In time for a watermark of an hour, and not.
LATE = (timedelta(minutes=45), timedelta(hours=5))
KINDS = ("open", "close", "ring")
ROWS = 40


def write_file(folder: Path, number: int, *, seed: int = 7) -> Path:
    """Write one file, whole or not at all.

    Args:
        folder: Created if need be.
        number: From 1.
    """
    rows = _events(number, seed)
    chance = chance_of(seed, -number)
    again = [row for row in rows if chance.random() < 0.1]
    # What the hour before sent, once more.
    again += [row for row in _events(number - 1, seed) if chance.random() < 0.2]
    rows += again
    chance.shuffle(rows)
    return place_json(folder / f"{number:03d}.json", rows)


def _events(number: int, seed: int) -> list[dict[str, Any]]:
    if number < 1:
        return []
    chance = chance_of(seed, number)
    return [
        {"id": f"{number:03d}-{place:02d}", "kind": chance.choice(KINDS), "at": as_text(at)}
        for place, at in enumerate(times(chance, number, PERIOD, ROWS, LATE))
    ]


if __name__ == "__main__":
    command(__doc__, write_file)
