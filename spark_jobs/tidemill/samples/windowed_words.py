"""Lines of text with the time they were said at, out of order, a few of them late.

`python -m tidemill.samples.windowed_words FOLDER --files 4` writes `001.json` and so on, ten
minutes each. The same seed always gives the same bytes.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tidemill.samples.feed import as_text, chance_of, command, place_json, times
from tidemill.samples.word_count import sentence

PERIOD = timedelta(minutes=10)
# Still in time, mostly in time, for no window any more.
LATE = (timedelta(minutes=4), timedelta(minutes=12), timedelta(minutes=45))
LINES = 30


def write_file(folder: Path, number: int, *, seed: int = 7) -> Path:
    """Write one file, whole or not at all.

    Args:
        folder: Created if need be.
        number: From 1.
    """
    chance = chance_of(seed, number)
    said = times(chance, number, PERIOD, LINES, LATE)
    lines = [{"at": as_text(at), "text": sentence(chance)} for at in said]
    return place_json(folder / f"{number:03d}.json", lines)


if __name__ == "__main__":
    command(__doc__, write_file)
