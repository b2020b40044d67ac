"""Clicks on advertisements, and the table of what an impression of each of them brings in.

`python -m tidemill.samples.click_revenue FOLDER --files 4` writes `clicks/001.json` and so on, an
hour each, and with each of them the table `impressions/impressions.csv` again: prices change, and
now and then an advertisement is new. The same seed always gives the same bytes.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tidemill.samples.feed import as_text, chance_of, command, place, place_json, times

PERIOD = timedelta(hours=1)
CAMPAIGNS = ("tea", "flour", "harbour tours")
CLICKS = 30
ADS = 12


def write_file(folder: Path, number: int, *, seed: int = 7) -> tuple[Path, Path]:
    """Write one file of clicks and the table as it is then, each whole or not at all.

    Args:
        folder: Gets `clicks` and `impressions`.
        number: From 1.
    """
    chance = chance_of(seed, number)
    table = ["ad,campaign,price"]
    # The table does not know the last advertisement yet.
    for ad in range(ADS + number - 1):
        table.append(f"A{ad:02d},{CAMPAIGNS[ad % 3]},{chance.randint(5, 95) / 100:.2f}")
    clicks = [
        {"click": f"C{number:03d}-{place_:02d}", "ad": f"A{ad:02d}", "at": as_text(at)}
        for place_, at in enumerate(times(chance, number, PERIOD, CLICKS, [timedelta(hours=5)]))
        for ad in (chance.randrange(ADS + number),)
    ]
    return (
        place_json(folder / "clicks" / f"{number:03d}.json", clicks),
        place(folder / "impressions" / "impressions.csv", table),
    )


if __name__ == "__main__":
    command(__doc__, write_file)
