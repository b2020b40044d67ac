"""Readings of sensors, some with an error code, out of order, a few of them late.

`python -m tidemill.samples.sensors FOLDER --files 4` writes `001.json` and so on, ten minutes
each, for both `sensor_windows` and `sensor_baselines`. The same seed always gives the same bytes.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tidemill.samples.feed import as_text, chance_of, command, place_json, times

PERIOD = timedelta(minutes=10)
# Still in time, mostly in time, for no window any more.
LATE = (timedelta(minutes=6), timedelta(minutes=13), timedelta(minutes=50))
BASELINES = {"boiler": 80, "cellar": 11, "roof": 19}
CODES = ("E1", "E2", "E7")
ROWS = 60


def write_file(folder: Path, number: int, *, seed: int = 7) -> Path:
    """Write one file, whole or not at all.

    Args:
        folder: Created if need be.
        number: From 1.
    """
    chance = chance_of(seed, number)
    rows = []
    for at in times(chance, number, PERIOD, ROWS, LATE):
        sensor = chance.choice(list(BASELINES))
        value = round(chance.gauss(BASELINES[sensor], 2), 2)
        code = chance.choice(CODES) if chance.random() < 0.15 else None
        rows.append({"sensor": sensor, "value": value, "error_code": code, "at": as_text(at)})
    return place_json(folder / f"{number:03d}.json", rows)


if __name__ == "__main__":
    command(__doc__, write_file)
