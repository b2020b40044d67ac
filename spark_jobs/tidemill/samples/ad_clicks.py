"""Impressions of advertisements and the clicks on them, as two feeds of different pace.

`python -m tidemill.samples.ad_clicks FOLDER --files 4` writes `impressions/001.json`,
`clicks/001.json` and so on, an hour each. The same seed always gives the same bytes.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from tidemill.samples.feed import as_text, chance_of, command, place_json, times

PERIOD = timedelta(hours=1)
# In time for a watermark of two hours, and not.
LATE = (timedelta(minutes=90), timedelta(hours=6))
CAMPAIGNS = ("tea", "flour", "harbour tours")
ROWS = 20


def write_file(folder: Path, number: int, *, seed: int = 7) -> tuple[Path, Path]:
    """Write one file of impressions and one of clicks, each whole or not at all.

    Args:
        folder: Gets `impressions` and `clicks`.
        number: From 1.
    """
    shown = [*_shown(number, seed)]
    # Clicks on what was shown in the hour before come in with this one.
    clicked = [*_clicked(number - 1, seed, odd=True), *_clicked(number, seed, odd=False)]
    name = f"{number:03d}.json"
    impressions = [{"ad": ad, "campaign": what, "at": as_text(at)} for ad, what, at in shown]
    clicks = [{"ad": ad, "at": as_text(at)} for ad, at in clicked]
    return (
        place_json(folder / "impressions" / name, impressions),
        place_json(folder / "clicks" / name, clicks),
    )


def _shown(number: int, seed: int) -> list[tuple[str, str, datetime]]:
    chance = chance_of(seed, number)
    return [
        (f"A{number:03d}-{place:02d}", chance.choice(CAMPAIGNS), at)
        for place, at in enumerate(times(chance, number, PERIOD, ROWS, LATE))
    ]


def _clicked(number: int, seed: int, *, odd: bool) -> list[tuple[str, datetime]]:
    """Some of a file's advertisements are clicked: in time, within the hour, after it, twice."""
    found = []
    for place, (ad, _, at) in enumerate(_shown(number, seed) if number > 0 else []):
        chance = chance_of(seed, number * 100 + place)
        if place % 2 == odd and chance.random() < 0.6:
            minutes = chance.choice((1, 7, 42, 60, 75))
            found.append((ad, at + timedelta(minutes=minutes)))
            if chance.random() < 0.2:
                found.append((ad, at + timedelta(minutes=minutes, seconds=30)))
    return found


if __name__ == "__main__":
    command(__doc__, write_file)
