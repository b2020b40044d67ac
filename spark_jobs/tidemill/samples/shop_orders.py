"""Daily order files of a small shop, with the defects that real feeds have.

`python -m tidemill.samples.shop_orders FOLDER --days 4` writes `orders-001.csv` and so on. The
same seed always gives the same bytes.
"""

from __future__ import annotations

import argparse
import csv
import io
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

COLUMNS = ("order_id", "customer_id", "product", "quantity", "unit_price", "ordered_at")
PRODUCTS = {
    "kettle": "24.90",
    "teapot": "18.50",
    "mug": "6.20",
    "tea, loose leaf": "9.75",
    'sieve "fine"': "4.10",
    "honey": "7.30",
}
FIRST_DAY = datetime(2026, 3, 1)  # noqa: DTZ001 - wall-clock time, as feeds write it
ORDERS_A_DAY = 400


def write_day(folder: Path, day: int, *, seed: int = 7, planted: bool = False) -> Path:
    """Write one day's file, whole or not at all.

    Args:
        folder: Created if need be.
        day: From 1.
        planted: Make it a bad day: two fifths of the quantities are negative.

    Returns:
        The file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"orders-{day:03d}.csv"
    draft = folder / f".{target.name}"
    chance = random.Random(seed * 1000 + day)  # noqa: S311 - repeatable, not secret
    draft.write_text("".join(_lines(day, chance, planted)))
    return draft.replace(target)


def _lines(day: int, chance: random.Random, planted: bool) -> Iterator[str]:
    yield _line(COLUMNS)
    for number in range(ORDERS_A_DAY):
        row = _order(day, number, chance, planted)
        yield _line(row)
        if chance.random() < 0.01:
            yield _line(row)
        if chance.random() < 0.01:
            yield _malformed(row, chance)


def _order(day: int, number: int, chance: random.Random, planted: bool) -> tuple[str, ...]:
    product, price = chance.choice(list(PRODUCTS.items()))
    quantity = chance.randint(1, 6)
    if chance.random() < (0.4 if planted else 0.005):
        quantity = -quantity
    # A few orders come in a day or two after they were placed.
    late = chance.choice((1, 2)) if chance.random() < 0.03 else 0
    placed = FIRST_DAY + timedelta(days=day - 1 - late, seconds=chance.randrange(86400))
    customer = "" if chance.random() < 0.1 else f"C{chance.randrange(500):04d}"
    when = "" if chance.random() < 0.005 else placed.isoformat(sep=" ")
    return (f"SO-{day:03d}{number:03d}", customer, product, str(quantity), price, when)


def _malformed(row: tuple[str, ...], chance: random.Random) -> str:
    """A line as broken feeds send it: a word for a number, a field too few, a field too many."""
    order, customer, product, _, price, when = row
    return _line(
        chance.choice(
            (
                (order, customer, product, "many", price, when),
                (order, customer, product),
                (*row, "surplus"),
            )
        )
    )


def _line(row: tuple[str, ...]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(row)
    return text.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--days", type=int, default=4)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--planted", type=int, nargs="*", default=(), help="days that are bad")
    given = parser.parse_args()
    for day in range(1, given.days + 1):
        write_day(given.folder, day, seed=given.seed, planted=day in given.planted)


if __name__ == "__main__":
    main()
