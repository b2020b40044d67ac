"""Invoice lines shaped like the UCI Online Retail data, for those who do not have it.

`python -m tidemill.samples.retail_daily FOLDER --files 4` writes a CSV file a day, with cancelled
invoices and lines that come a day or two late. The same seed always gives the same bytes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from tidemill.samples.feed import START, chance_of, command, place

COLUMNS = (
    "InvoiceNo",
    "StockCode",
    "Description",
    "Quantity",
    "InvoiceDate",
    "UnitPrice",
    "CustomerID",
    "Country",
)
PRODUCTS = {
    "85123A": ("WHITE HANGING HEART T-LIGHT HOLDER", "2.55"),
    "22423": ('REGENCY CAKESTAND "3 TIER"', "12.75"),
    "POST": ("POSTAGE", "18.00"),
    "21730": ("GLASS STAR, FROSTED", "0.375"),
}
COUNTRIES = ("United Kingdom", "United Kingdom", "France", "EIRE")
INVOICES = 12


def write_file(folder: Path, number: int, *, seed: int = 7) -> Path:
    """Write one day's file, whole or not at all.

    Args:
        folder: Created if need be.
        number: The day's number, from 1.
    """
    day = START + timedelta(days=number - 1)
    return place(folder / f"{day:%Y-%m-%d}.csv", _lines(number, seed))


def _lines(number: int, seed: int) -> Iterator[str]:
    chance = chance_of(seed, number)
    yield _line(COLUMNS)
    for invoice in range(INVOICES):
        country = chance.choice(COUNTRIES)
        # Unknown customers have no id in the data either.
        customer = "" if chance.random() < 0.2 else f"{17000 + chance.randrange(99)}.0"
        cancelled = chance.random() < 0.15
        late = chance.choice((1, 2)) if chance.random() < 0.1 else 0
        at = START + timedelta(days=number - 1 - late, minutes=chance.randrange(300))
        name = f"{'C' if cancelled else ''}{536000 + number * 100 + invoice}"
        for code in chance.sample(list(PRODUCTS), chance.randint(1, 3)):
            what, price = PRODUCTS[code]
            quantity = chance.randint(1, 24) * (-1 if cancelled else 1)
            when = f"{at:%Y-%m-%d %H:%M:%S}"
            yield _line((name, code, what, str(quantity), when, price, customer, country))


def _line(row: tuple[str, ...]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(row)
    return text.getvalue()


if __name__ == "__main__":
    command(__doc__, write_file)
