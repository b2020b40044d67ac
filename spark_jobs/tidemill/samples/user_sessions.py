"""What users of a web site do, as JSON: late, out of order, and now and then not to be read.

`python -m tidemill.samples.user_sessions FOLDER --files 8` writes `001.json` and so on, a quarter
of an hour each. The same seed always gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random

from tidemill.samples.feed import as_text, chance_of, command, place, times

PERIOD = timedelta(minutes=15)
# In time, mostly in time, never.
LATE = (timedelta(minutes=6), timedelta(minutes=12), timedelta(hours=2))
ROWS = 60
USERS = tuple(f"user-{number:02d}" for number in range(1, 25))
# Somebody who has forgotten a password, and tries again and again.
STUBBORN = USERS[2]


def write_file(folder: Path, number: int, *, seed: int = 7) -> Path:
    """Write one file, whole or not at all.

    Args:
        folder: Created if need be.
        number: From 1.
    """
    return place(folder / f"{number:03d}.json", _lines(number, chance_of(seed, number)))


def _lines(number: int, chance: Random) -> Iterator[str]:
    # Each user comes for some files and stays away for some.
    here = [user for place, user in enumerate(USERS) if (number + place) % 7 < 3]
    for at in times(chance, number, PERIOD, ROWS, LATE):
        user = chance.choice(here)
        tries = user == STUBBORN and chance.random() < 0.7
        action = "login_failed" if tries else chance.choice(("login", "view", "view", "buy"))
        yield json.dumps({"user": user, "at": as_text(at), "action": action})
        broken = chance.random()
        if broken < 0.02:
            yield json.dumps({"user": user, "at": as_text(at), "action": "???"})
        elif broken < 0.03:
            yield f'{{"user": "{user}", "at": "{as_text(at)}'


if __name__ == "__main__":
    command(__doc__, write_file)
