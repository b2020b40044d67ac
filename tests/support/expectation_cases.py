"""Rows and expectations on which both engines must agree: every kind of column, with its traps."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tests.support.parquet_sink import expect

ROWS = 12
ZONE = "Europe/London"
PARTITION = {"day_part": "2026-03-01"}


def _utc(*when: int) -> datetime.datetime:
    return datetime.datetime(*when, tzinfo=datetime.UTC)  # type: ignore[arg-type]


_AT = pa.timestamp("us", "UTC")
_PRICE = pa.decimal128(10, 2)
# A line's end, an empty text, letters and digits and a blank that are not one in ASCII.
_NAMES = ["SO-000001", "SO-1\r\n", None, "", "x\n", "SO-1", "Ünï", "\u0661", "a b", "SO-000001"]
_NAMES += ["\u00a0", "A.B"]
_CENTS = [1, 10, None, 330, 999, 999, 10000, -500, 0, 100, 220, None]

ROWS_OF: dict[str, pa.Array] = {
    "id": pa.array(range(ROWS), pa.int64()),
    "seven": pa.array([7] * ROWS, pa.int16()),
    "number": pa.array([1, 2, None, 4, 5, 5, None, 8, 9, 10, -3, 12], pa.int32()),
    "other": pa.array([1, None, None, 3, 9, 5, 1, 8, 2, 11, -3, 0], pa.int32()),
    # As doubles these would all be one.
    "huge": pa.array([None, *(2**60 + n for n in range(ROWS - 1))], pa.int64()),
    # As a double read by Arrow itself 3.30 is 3.3000000000000003.
    "price": pa.array([c if c is None else Decimal(c).scaleb(-2) for c in _CENTS], _PRICE),
    "ratio": pa.array(
        [0.1, 0.2, None, float("nan"), 1e300, -0.0, 0.0, 3.5, 3.5, float("inf"), -1.0, 2.0]
    ),
    "single": pa.array([0.1, 0.2, None, 0.5, 1.5, 2.5] * 2, pa.float32()),
    "code": pa.array([f"SO-{n:06d}" for n in range(ROWS)]),
    "name": pa.array(_NAMES),
    "alias": pa.array(
        ["SO-000001", None, None, "", "y", "z", "Ünï", "b", "c", "SO-9", "\U0001f600", "e\u0301"]
    ),
    "flag": pa.array([True, False, None] * 4),
    "yes": pa.array([True] * ROWS),
    "day": pa.array([datetime.date(2026, 1, 1 + n % 5) if n % 4 else None for n in range(ROWS)]),
    "far_day": pa.array([datetime.date(1, 1, 1), datetime.date(9999, 12, 31)] * 6),
    # Midnight in UTC is one o'clock in London.
    "at": pa.array([_utc(2026, 7, 1, 0, 0, n) if n % 4 else None for n in range(ROWS)], _AT),
    "then": pa.array([_utc(2026, 7, 1, 0, 0, 5)] * ROWS, _AT),
    "far": pa.array([_utc(9999, 12, 31), _utc(2026, 1, 1), None] * 4, _AT),
    "no_number": pa.nulls(ROWS, pa.int32()),
    "no_price": pa.nulls(ROWS, _PRICE),
    "no_name": pa.nulls(ROWS, pa.string()),
    "no_flag": pa.nulls(ROWS, pa.bool_()),
    "no_day": pa.nulls(ROWS, pa.date32()),
    "no_time": pa.nulls(ROWS, _AT),
}
TYPES: dict[str, Any] = {**{n: v.type for n, v in ROWS_OF.items()}, "day_part": "date"}

NUMBERS = ("seven", "number", "huge", "price", "ratio", "single", "no_number", "no_price")
TEXTS = ("code", "name", "no_name")
TIMES = ("at", "far", "no_time")
DAYS = ("day", "far_day", "no_day", "day_part")
DAY_BOUNDS = ("2026-01-02", "9999-01-01")
TIME_BOUNDS = ("2026-07-01", "2026-07-01T01:00:05", "2026-07-01T00:00:05+00:00")
PATTERNS = (
    r"^SO-\d{6}$",
    r"^SO-1$",
    r"^\w+$",
    r"^.*$",
    r"\s",
    r"^$",
    r"^(?:SO|x)",
    r"[^a-zA-Z0-9-]",
    r"^\w{2,} ?\w+\.?$",
)


def _condition(column: str, operator: str, parameter: Any) -> dict[str, Any]:
    return {
        "type": "comparison",
        "column": {"name": column},
        "operator": operator,
        "parameter": parameter,
    }


def _nullity(column: str, is_null: bool) -> dict[str, Any]:
    return {"type": "nullity", "column": {"name": column}, "is_null": is_null}


NOTHING = _condition("id", ">", 100)
CONDITIONS = (
    _condition("number", ">", 4),
    _condition("number", "<=", 4),
    _condition("number", "==", 5),
    _condition("number", "IN", [1, 2]),
    _condition("huge", ">", 1),
    _condition("price", ">=", 0.1),
    _condition("price", "==", 3.3),
    _condition("ratio", ">", 0),
    _condition("name", "==", "SO-000001"),
    _condition("name", "IN", ["SO-1", ""]),
    _condition("name", ">", "S"),
    _condition("flag", "==", True),
    _condition("no_number", ">", 1),
    _condition("no_name", "==", "a"),
    _nullity("number", True),
    _nullity("ratio", True),
    _nullity("name", False),
    {"type": "and", "conditions": [_condition("number", ">", 1), _nullity("name", False)]},
    {"type": "or", "conditions": [_condition("number", ">", 8), _nullity("name", True)]},
)


def expectations() -> Iterator[dict[str, Any]]:
    yield from _without_conditions()
    yield from _with_conditions()


def _without_conditions() -> Iterator[dict[str, Any]]:
    yield from _of_the_table()
    yield from _of_any_column()
    yield from _of_ordered_columns()
    yield from _of_sets()
    yield from _of_texts()
    yield from _of_several_columns()


def _of_the_table() -> Iterator[dict[str, Any]]:
    names = list(TYPES)
    for bounds in ({"min_value": 1}, {"max_value": ROWS - 1}):
        yield expect("table_row_count_to_be_between", **bounds)
        yield expect("table_column_count_to_be_between", **bounds)
    for off in (0, 1):
        yield expect("table_row_count_to_equal", value=ROWS + off)
        yield expect("table_column_count_to_equal", value=len(names) + off)
        yield expect("table_columns_to_match_set", column_set=names[off:])
        yield expect("table_columns_to_match_ordered_list", column_list=names[off:])
    yield expect("table_columns_to_match_set", column_set=["id"], exact_match=False)
    yield expect("column_to_exist", column="id")
    yield expect("column_to_exist", column="no such column")


def _of_any_column() -> Iterator[dict[str, Any]]:
    for column in TYPES:
        yield expect("column_values_to_not_be_null", column=column, mostly=0.7)
        yield expect("column_values_to_be_null", column=column)
        yield expect("column_values_to_be_unique", column=column)
    for column in ("seven", "number", "huge", "ratio", "name", "flag", "day", "far", "no_name"):
        yield expect("column_unique_value_count_to_be_between", column=column, max_value=4)
        for share in ("unique", "non_null"):
            what = f"column_proportion_of_{share}_values_to_be_between"
            yield expect(what, column=column, min_value=0.7)


def _of_ordered_columns() -> Iterator[dict[str, Any]]:
    for column in NUMBERS:
        for bounds in ({"min_value": 0.01, "max_value": 9.99}, {"min_value": 3.3}):
            yield expect("column_values_to_be_between", column=column, **bounds, mostly=0.5)
        strict = {"min_value": 0.1, "max_value": 12, "strict_min": True, "strict_max": True}
        yield expect("column_values_to_be_between", column=column, **strict)
        for what in ("min", "max", "mean"):
            yield expect(f"column_{what}_to_be_between", column=column, **strict)
            yield expect(f"column_{what}_to_be_between", column=column, max_value=12)
    for columns, some in ((DAYS, DAY_BOUNDS), (TIMES, TIME_BOUNDS)):
        for column in columns:
            for bound in some:
                yield expect("column_values_to_be_between", column=column, max_value=bound)
                yield expect("column_min_to_be_between", column=column, min_value=bound)
                yield expect("column_max_to_be_between", column=column, max_value=bound)


def _of_sets() -> Iterator[dict[str, Any]]:
    sets: dict[tuple[str, ...], list[Any]] = {
        NUMBERS: [0.01, 9.99, 3.3, 5, 7],
        TEXTS: ["SO-000001", "Ünï", ""],
        ("flag", "yes", "no_flag"): [True],
    }
    for columns, values in sets.items():
        for column in columns:
            for verb in ("be", "not_be"):
                yield expect(f"column_values_to_{verb}_in_set", column=column, value_set=values)


def _of_texts() -> Iterator[dict[str, Any]]:
    for column in TEXTS:
        for pattern in PATTERNS if column == "name" else PATTERNS[:1]:
            yield expect("column_values_to_match_regex", column=column, regex=pattern)
        yield expect("column_values_to_not_match_regex", column=column, regex=PATTERNS[0])
    for column in ("code", "alias", "no_name"):
        for bounds in ({"min_value": 1}, {"max_value": 1}):
            yield expect("column_value_lengths_to_be_between", column=column, **bounds)
        yield expect("column_value_lengths_to_equal", column=column, value=9)


def _of_several_columns() -> Iterator[dict[str, Any]]:
    pairs = (
        ("number", "other"),
        ("other", "price"),
        ("name", "alias"),
        ("at", "then"),
        ("far", "then"),
        ("day", "day_part"),
        ("flag", "yes"),
        ("no_number", "other"),
        ("seven", "seven"),
    )
    for a, b in pairs:
        both = {"column_A": a, "column_B": b, "ignore_row_if": "either_value_is_missing"}
        for or_equal in (True, False):
            what = "column_pair_values_a_to_be_greater_than_b"
            yield expect(what, **both, or_equal=or_equal)
        for ignore in ("either_value_is_missing", "both_values_are_missing"):
            yield expect("column_pair_values_to_be_equal", **{**both, "ignore_row_if": ignore})
    for columns in (("number", "other"), ("name", "alias"), ("flag", "yes"), ("no_name", "alias")):
        for ignore in ("all_values_are_missing", "any_value_is_missing", "never"):
            several = {"column_list": list(columns), "ignore_row_if": ignore}
            yield expect("select_column_values_to_be_unique_within_record", **several)
            yield expect("compound_columns_to_be_unique", **several)
    for columns in (("id", "name"), ("day", "at"), ("huge", "price")):
        yield expect("compound_columns_to_be_unique", column_list=list(columns))
    yield expect("select_column_values_to_be_unique_within_record", column_list=["code", "alias"])


def _with_conditions() -> Iterator[dict[str, Any]]:
    for condition in CONDITIONS:
        row = {"row_condition": condition}
        yield expect("table_row_count_to_be_between", min_value=3, **row)
        yield expect("column_values_to_be_between", column="id", min_value=5, **row)
    # What every expectation says of no rows at all.
    seen = {"expect_column_to_exist"}
    for given in _without_conditions():
        if given["type"] not in seen and "table_column" not in given["type"]:
            seen.add(given["type"])
            yield {**given, "kwargs": {**given["kwargs"], "row_condition": NOTHING}}
