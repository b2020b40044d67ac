"""What the customers of a shop did, and the table of customers.

`python -m tidemill.samples.customer_hours FOLDER --files 4` writes `actions/001.json` and so on,
an hour each, and with each of them the table `customers/customers.csv` again, which grows. The same
seed always gives the same bytes.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tidemill.samples.feed import as_text, chance_of, command, place, place_json, times

PERIOD = timedelta(hours=1)
# In time for a watermark of an hour, and not.
LATE = (timedelta(minutes=30), timedelta(hours=4))
ACTIONS = ("open", "view", "buy")
ROWS = 40
NAMES = ("Ada", "Grace", "Edsger", "Barbara", "Donald", "Frances", "Tony", "Radia")


def write_file(folder: Path, number: int, *, seed: int = 7) -> tuple[Path, Path]:
    """Write one file of actions and the table as it is then, each whole or not at all.

    Args:
        folder: Gets `actions` and `customers`.
        number: From 1.
    """
    chance = chance_of(seed, number)
    known = min(len(NAMES), 4 + number)
    # The next customer acts before the table knows of them.
    actions = [
        {
            "customer_id": f"C{chance.randrange(known + 1)}",
            "action": chance.choice(ACTIONS),
            "at": as_text(at),
        }
        for at in times(chance, number, PERIOD, ROWS, LATE)
    ]
    customers = [f"C{one},{name}" for one, name in enumerate(NAMES[:known])]
    return (
        place_json(folder / "actions" / f"{number:03d}.json", actions),
        place(folder / "customers" / "customers.csv", ["customer_id,name", *customers]),
    )


if __name__ == "__main__":
    command(__doc__, write_file)
