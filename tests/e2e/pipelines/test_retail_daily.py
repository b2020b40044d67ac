"""The shipped pipeline `retail_daily`, against one query of DuckDB over the same files."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from tests.support.pipelines.shipped_pipeline import Shipped
from tidemill.samples import retail_daily

DATA = Path(os.environ.get("TIDEMILL_RETAIL", ""))
COLUMNS = ("order_date", "country", "orders", "cancellations", "revenue", "taken_back")
ORACLE = """
    SELECT InvoiceDate::TIMESTAMP::DATE, Country,
           count(DISTINCT InvoiceNo) FILTER (InvoiceNo[1] <> 'C'),
           count(DISTINCT InvoiceNo) FILTER (InvoiceNo[1] = 'C'),
           sum(amount), coalesce(sum(amount) FILTER (InvoiceNo[1] = 'C'), 0)
    FROM (SELECT *, (Quantity::INT * UnitPrice::DECIMAL(10,3))::DECIMAL(14,3) AS amount
          FROM read_csv($1, header = true, all_varchar = true, quote = '"', escape = '"')
          WHERE UnitPrice::DECIMAL(10,3) >= 0)
    GROUP BY ALL
"""


def expected(shop: Shipped) -> list[tuple[object, ...]]:
    rows = duckdb.connect().execute(ORACLE, [f"{shop.input}/*.csv"]).fetchall()
    return sorted(rows, key=repr)


def test_lines_of_earlier_days_change_what_was_published(tmp_path: Path, spark: object) -> None:
    shop = Shipped("retail_daily", tmp_path, "TIDEMILL_RETAIL")
    seen = []
    for days in ((1, 2), (3, 4)):
        for day in days:
            retail_daily.write_file(shop.input, day)
        shop.run()
        seen.append(shop.published(*COLUMNS))
        assert seen[-1] == expected(shop)
    keys, later = {row[:2] for row in seen[1]}, set(seen[1])
    assert any(row[:2] in keys and row not in later for row in seen[0])
    assert any(row[3] for row in seen[1])


@pytest.mark.skipif(
    "TIDEMILL_RETAIL" not in os.environ,
    reason="TIDEMILL_RETAIL does not say where the Online Retail data is",
)
def test_a_quarter_of_the_real_data_in_two_increments(tmp_path: Path, spark: object) -> None:
    shop = Shipped("retail_daily", tmp_path, "TIDEMILL_RETAIL")
    files = sorted(DATA.glob("2011-0[789]-*.csv"))
    for some in (files[:40], files[40:]):
        for file in some:
            (shop.input / file.name).symlink_to(file)
        shop.run()
    found = shop.published(*COLUMNS)
    assert found == expected(shop)
    orders, cancellations, revenue, _ = (sum(column) for column in [*zip(*found, strict=True)][2:])
    assert (orders, cancellations, revenue) == (5_108, 881, Decimal("2405792.363"))
    assert shop.rejected() == ["rule price_not_negative"] * 2
