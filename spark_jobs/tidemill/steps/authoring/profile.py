"""Proposes the expectations of a suite from rows: what each column has held so far.

What every row held and must not change, such as a column without nulls, is critical and holds an
increment. What a sample can only suggest, such as a range, is a warning.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    import pyarrow.dataset

MOST_VALUES = 12
# A set is proposed where each of its values occurs about this often.
OFTEN = 5
# A column may be called unique from this many rows on.
ENOUGH = 10
# The share of rows that must have a value for a column to be expected to be filled.
MOSTLY_FILLED = 0.95
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "HUGEINT")
_KEYS = ("VARCHAR", "BIGINT", "INTEGER")
_NICE = (1, 2, 5, 10)


@dataclass(frozen=True)
class Found:
    """What rows hold in one column.

    Args:
        kind: DuckDB's type of it.
        filled: Rows with a value.
        distinct: Different values.
    """

    name: str
    kind: str
    rows: int
    filled: int
    distinct: int


def profile(
    rows: pa.Table | pyarrow.dataset.Dataset, *, mask: Collection[str] = ()
) -> list[dict[str, Any]]:
    """The expectations, as a suite's JSON has them.

    Args:
        rows: What is published, or a sample of it.
        mask: Columns whose values are named in no expectation.

    Returns:
        At least one. The `meta` of each says by what share of how many rows it was held.
    """
    import duckdb

    connection = duckdb.connect(config={"memory_limit": "1GB"})
    connection.register("given", rows)
    given = connection.table("given")
    (total,) = _one(given.aggregate("count(*)"))
    found = [
        expectation
        for column in _columns(given, total)
        for expectation in _expectations(given, column, hidden=column.name in mask)
    ]
    return found or [
        _expectation("expect_table_row_count_to_be_between", {"min_value": 1}, total, 1.0)
    ]


def _columns(given: duckdb.DuckDBPyRelation, total: int) -> Iterator[Found]:
    for name, kind in zip(given.columns, map(str, given.types), strict=True):
        column = _quoted(name)
        nested = kind.endswith(("]", ")")) and not kind.startswith("DECIMAL")
        distinct = "0" if nested else f"count(DISTINCT {column})"
        filled, different = _one(given.aggregate(f"count({column}), {distinct}"))
        yield Found(name, kind.partition("(")[0], total, filled, different)


def _expectations(
    given: duckdb.DuckDBPyRelation, column: Found, *, hidden: bool
) -> Iterator[dict[str, Any]]:
    on = {"column": column.name}
    share = column.filled / column.rows if column.rows else 0.0
    if share == 1:
        yield _expectation("expect_column_values_to_not_be_null", on, column.rows, share)
    elif share >= MOSTLY_FILLED:
        mostly = {**on, "mostly": math.floor(share * 100) / 100}
        kind = "expect_column_values_to_not_be_null"
        yield _expectation(kind, mostly, column.rows, share, guess=True)
    unique = column.distinct == column.rows >= ENOUGH and column.kind in _KEYS
    if unique:
        yield _expectation("expect_column_values_to_be_unique", on, column.rows, 1.0)
    if hidden or not column.filled or unique:
        return
    if column.kind == "VARCHAR" and _is_set(column):
        values = {"value_set": _values(given, column.name)}
        kind = "expect_column_values_to_be_in_set"
        yield _expectation(kind, {**on, **values}, column.rows, 1.0, guess=True)
    elif column.kind in _NUMBERS:
        bounds = _bounds(given, column.name)
        if bounds:
            kind = "expect_column_values_to_be_between"
            yield _expectation(kind, {**on, **bounds}, column.rows, 1.0, guess=True)


def _expectation(
    kind: str, kwargs: dict[str, Any], rows: int, held: float, *, guess: bool = False
) -> dict[str, Any]:
    return {
        "type": kind,
        "kwargs": kwargs,
        "severity": "warning" if guess else "critical",
        "meta": {"held": round(held, 4), "rows": rows},
        "notes": f"Proposed from {rows:,} rows, of which {percent(held)} held it.",
    }


def percent(share: float) -> str:
    """A share for people, such as 99.87 %."""
    # A share below one is never rounded up to it.
    return "100 %" if share == 1 else f"{math.floor(share * 10_000) / 100:.2f} %"


def _is_set(column: Found) -> bool:
    often = column.distinct * OFTEN <= column.filled
    return often and column.distinct <= MOST_VALUES and column.filled * 2 >= column.rows


def _values(given: duckdb.DuckDBPyRelation, name: str) -> list[str]:
    column = _quoted(name)
    filled = given.filter(f"{column} IS NOT NULL").project(column).distinct().order(column)
    return [value for (value,) in filled.fetchall()]


def _bounds(given: duckdb.DuckDBPyRelation, name: str) -> dict[str, Any]:
    """Twice what was seen, rounded up; zero is a bound where nothing was on its other side."""
    column = _quoted(name)
    numbers = given.filter(f"isfinite({column}::DOUBLE)")
    least, most = _one(numbers.aggregate(f"min({column}), max({column})"))
    if least is None:
        return {}
    whole = isinstance(least, int)
    low, high = (float(value) if isinstance(value, Decimal) else value for value in (least, most))
    bottom = 0 if low >= 0 else -_above(-2 * low)
    top = 0 if high <= 0 else _above(2 * high)
    if bottom == top:
        return {"min_value": 0}
    bounds = {"min_value": bottom, "max_value": top}
    return {at: int(value) if whole else float(value) for at, value in bounds.items()}


def _above(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50 … that is not below a positive number."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(nice * power for nice in _NICE if nice * power >= value)


def _one(found: duckdb.DuckDBPyRelation) -> tuple[Any, ...]:
    (row,) = found.fetchall()
    return row


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
