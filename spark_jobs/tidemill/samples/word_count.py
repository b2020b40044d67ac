"""Text files of a log that a mill's keeper could have written.

`python -m tidemill.samples.word_count FOLDER --files 4` writes `001.txt` and so on. The same seed
always gives the same bytes.
"""

from __future__ import annotations

import random
from pathlib import Path

from tidemill.samples.feed import chance_of, command, place

SUBJECTS = ("the tide", "the mill", "the miller", "a gate", "Straße 42", "Ünïcode", "the wheel")
VERBS = ("rises", "falls", "grinds", "shuts", "waits", "turns")
ENDS = (".", ", and so it goes.", " - again!", "; the tide waits for us.", "")
LINES = 40


def write_file(folder: Path, number: int, *, seed: int = 7) -> Path:
    """Write one file, whole or not at all.

    Args:
        folder: Created if need be.
        number: From 1.
    """
    chance = chance_of(seed, number)
    return place(folder / f"{number:03d}.txt", (sentence(chance) for _ in range(LINES)))


def sentence(chance: random.Random) -> str:
    """A line; one in ten is blank."""
    if chance.random() < 0.1:
        return "  "
    words = f"{chance.choice(SUBJECTS)} {chance.choice(VERBS)}{chance.choice(ENDS)}"
    return words.upper() if chance.random() < 0.2 else words


if __name__ == "__main__":
    command(__doc__, write_file)
