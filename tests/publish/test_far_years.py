"""Dates and times of years that nanoseconds or Python do not have are published as they are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from tests.support.histories.history_builder import History
from tidemill.contract.report import Outcome

Make = Callable[..., History]
COLUMNS = pa.schema(
    [
        ("id", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
        ("wall", pa.timestamp("us")),
        ("day", pa.date32()),
    ]
)


def published(make_history: Make, rows: list[tuple[Any, ...]]) -> History:
    history = make_history(columns=COLUMNS, partitions={})
    history.increment([dict(zip(COLUMNS.names, row, strict=True)) for row in rows])
    assert history.publish().outcome is Outcome.DONE
    return history


def test_years_that_nanoseconds_do_not_have_are_whole_in_every_reader(make_history: Make) -> None:
    rows = [
        (year, at, at.replace(tzinfo=None), date(year, 3, 1))
        for year in (1, 1500, 9999)
        for at in [datetime(year, 3, 1, 12, 30, 0, 1, tzinfo=UTC)]
    ]
    history = published(make_history, rows)
    pandas = history.delta().to_pandas().sort_values("id")
    assert {str(pandas[name].dtype) for name in ("at", "wall")} == {
        "datetime64[us, UTC]",
        "datetime64[us]",
    }
    assert [tuple(row) for row in pandas.itertuples(index=False)] == rows
    assert pl.scan_delta(str(history.layout.table)).sort("id").collect().rows() == rows
    names = ", ".join(f'"{name}"' for name in COLUMNS.names)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    found = connection.read_parquet(history.delta().file_uris()).project(names).order("id")
    assert found.fetchall() == rows


def test_years_that_python_does_not_have_are_in_the_table(make_history: Make) -> None:
    moment, year_0 = 317_334_243_723_000_000, -62_167_219_200_000_000
    history = published(
        make_history, [(1, moment, moment, 3_673_000), (2, year_0, year_0, -719_528)]
    )
    expected = [
        ("+12025-12-03 01:02:03.000000", "+12026-05-02"),
        ("0000-01-01 00:00:00.000000", "0000-01-01"),
    ]
    found = pl.scan_delta(str(history.layout.table)).sort("id").collect()
    shown = found.select(pl.col("at").dt.replace_time_zone(None), "wall", "day").cast(pl.String)
    assert shown.rows() == [(at, at, day) for at, day in expected]
