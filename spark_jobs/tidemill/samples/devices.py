"""What devices of several types report: their signal, and now and then nothing but noise.

`python -m tidemill.samples.devices FOLDER --files 4` writes `001.json` and so on, for both
`device_signals` and `device_totals`. The same seed always gives the same bytes.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tidemill.samples.feed import as_text, chance_of, command, place_json, times

PERIOD = timedelta(hours=1)
LATE = (timedelta(hours=3), timedelta(days=2))
TYPES = {"gauge": 12, "pump": 4, "valve": 9}
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
        kind = chance.choice(list(TYPES))
        signal = round(chance.gauss(TYPES[kind], 3), 2)
        device = f"{kind}-{chance.randrange(5)}"
        rows.append({"device": device, "type": kind, "signal": signal, "at": as_text(at)})
    # One that is new here, and does not say what it is.
    rows[-1] = {**rows[-1], "type": None}
    return place_json(folder / f"{number:03d}.json", rows)


if __name__ == "__main__":
    command(__doc__, write_file)
