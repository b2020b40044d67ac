"""The orders pipeline day by day: a file a day, and what is published of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable

from tests.support.pipelines.orders_pipeline import TRANSFORM, OrdersPipeline

ROWS = 4
# The correction of a rule whose double was ten times too small.
MENDED = TRANSFORM.replace("* 2", "* 20")


def day(number: int) -> date:
    return date(2025, 3, number)


def midnight(number: int) -> datetime:
    return datetime.combine(day(number), datetime.min.time(), UTC)


def deliver(mill: OrdersPipeline, number: int, quantity: int) -> None:
    """A day's file: good rows, whatever the gate may say to them, and one that is malformed."""
    rows = [f"{number}-{n},{quantity},{day(number)} 0{n}:00:00" for n in range(ROWS)]
    mill.deliver(f"day-{number:02d}.csv", [*rows, f"{number}-bad,many,{day(number)} 00:00:00"])


def files(mill: OrdersPipeline) -> dict[str, dict[Path, int]]:
    """Day -> the files of the published table that hold it, with their sizes on disk."""
    found: dict[str, dict[Path, int]] = {}
    actions = pa.table(DeltaTable(mill.layout.table).get_add_actions(flatten=True))
    for action in actions.select(["path", "partition.day"]).to_pylist():
        file = mill.layout.table / action["path"]
        found.setdefault(str(action["partition.day"]), {})[file] = file.stat().st_size
    return found


def expected(mill: OrdersPipeline, mended: Iterable[int]) -> Counter[tuple[Any, ...]]:
    """Good rows of all files, by DuckDB: some days by the corrected rule, the others by the old."""
    rows = duckdb.connect().execute(
        """SELECT id, quantity, quantity * if(list_contains(?, day("at")), 20, 2), "at"::DATE
           FROM read_csv(?, columns = {'id': 'VARCHAR', 'quantity': 'INT', 'at': 'TIMESTAMP'},
                         ignore_errors = true)""",
        [[*mended], str(mill.input / "*.csv")],
    )
    return Counter(rows.fetchall())
