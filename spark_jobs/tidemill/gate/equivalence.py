"""The expectations for which pandas and Spark give the same verdict, some of them rewritten.

`tests/gate/test_equivalence.py` proves each line. What is not named here is judged on Spark.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tidemill.contract.syntax.java_regex import as_python
from tidemill.gate.columns import EXACT_INTEGER, Column, Kind
from tidemill.gate.suite import Expectation
from tidemill.gate.time_bounds import is_bound_of

Columns = Mapping[str, Column]
Rule = Callable[[Mapping[str, Any], Columns], str | None]

_NUMBERS: tuple[Kind, ...] = ("integer", "float", "decimal")
_ORDERED: tuple[Kind, ...] = (*_NUMBERS, "date", "timestamp")
# `!=` and NOT_IN keep a null in pandas and drop it in SQL.
_CONDITION_OPERATORS = {"==", "<", "<=", ">", ">=", "IN"}


def _anything(kwargs: Mapping[str, Any], columns: Columns) -> str | None:
    return None


def _of_kind(*kinds: Kind) -> Rule:
    def rule(kwargs: Mapping[str, Any], columns: Columns) -> str | None:
        column = columns[kwargs["column"]]
        return None if column.kind in kinds else f"column {column.name} is {column.type}"

    return rule


def _between(kwargs: Mapping[str, Any], columns: Columns) -> str | None:
    column = columns[kwargs["column"]]
    bounds = [kwargs[b] for b in ("min_value", "max_value") if kwargs.get(b) is not None]
    if column.kind in _NUMBERS:
        # Great Expectations makes doubles of them, which Spark and Python then compare differently.
        fits = all(_is_number(bound) and abs(bound) <= EXACT_INTEGER for bound in bounds)
    else:
        fits = column.kind in _ORDERED and all(is_bound_of(column, bound) for bound in bounds)
    return None if fits else f"column {column.name} is {column.type} and its bounds are not"


def _in_set(kwargs: Mapping[str, Any], columns: Columns) -> str | None:
    column = columns[kwargs["column"]]
    values = kwargs.get("value_set") or []
    fits = {
        "string": all(isinstance(value, str) for value in values),
        "boolean": all(isinstance(value, bool) for value in values),
    }.get(column.kind, column.kind in _NUMBERS and all(_is_number(value) for value in values))
    return None if fits and values else f"column {column.name} is {column.type} and the set is not"


def _regex(kwargs: Mapping[str, Any], columns: Columns) -> str | None:
    column = columns[kwargs["column"]]
    if column.kind != "string":
        return f"column {column.name} is {column.type}"
    if as_python(kwargs["regex"]) is None:
        return f"the pattern {kwargs['regex']} may mean another thing to Java"
    return None


def _same_kind(kwargs: Mapping[str, Any], columns: Columns) -> str | None:
    """Columns that are compared with each other must be of one kind."""
    names = kwargs.get("column_list") or [kwargs["column_A"], kwargs["column_B"]]
    if any(columns[name].type == "long" for name in names):
        # Where they are large and some are null, pandas cannot compare them in pairs.
        return f"one of {', '.join(names)} is long"
    kinds = {"number" if columns[name].kind in _NUMBERS else columns[name].kind for name in names}
    return None if len(kinds) == 1 else f"columns {', '.join(names)} are of different types"


def _within_record(kwargs: Mapping[str, Any], columns: Columns) -> str | None:
    """Times of far and of near years have different units in pandas, which it cannot mix."""
    times = [name for name in kwargs["column_list"] if columns[name].kind in ("date", "timestamp")]
    return f"column {times[0]} is a time" if times else _same_kind(kwargs, columns)


def _pair(*ignored: str) -> Rule:
    """Pairs with a null: to pandas they are a failure, to Spark they are nothing at all."""

    def rule(kwargs: Mapping[str, Any], columns: Columns) -> str | None:
        if kwargs.get("ignore_row_if", "both_values_are_missing") not in ignored:
            return f"ignore_row_if is not {' or '.join(ignored)}"
        return _same_kind(kwargs, columns)

    return rule


EQUIVALENT: Mapping[str, Rule] = {
    "expect_column_to_exist": _anything,
    "expect_table_row_count_to_be_between": _anything,
    "expect_table_row_count_to_equal": _anything,
    "expect_table_column_count_to_be_between": _anything,
    "expect_table_column_count_to_equal": _anything,
    "expect_table_columns_to_match_set": _anything,
    "expect_table_columns_to_match_ordered_list": _anything,
    "expect_column_values_to_not_be_null": _anything,
    "expect_column_values_to_be_null": _anything,
    "expect_column_values_to_be_unique": _anything,
    "expect_column_values_to_be_between": _between,
    "expect_column_values_to_be_in_set": _in_set,
    "expect_column_values_to_not_be_in_set": _in_set,
    "expect_column_values_to_match_regex": _regex,
    "expect_column_values_to_not_match_regex": _regex,
    "expect_column_value_lengths_to_be_between": _of_kind("string"),
    "expect_column_value_lengths_to_equal": _of_kind("string"),
    "expect_column_min_to_be_between": _between,
    "expect_column_max_to_be_between": _between,
    "expect_column_mean_to_be_between": _of_kind(*_NUMBERS),
    "expect_column_unique_value_count_to_be_between": _anything,
    "expect_column_proportion_of_unique_values_to_be_between": _anything,
    "expect_column_proportion_of_non_null_values_to_be_between": _anything,
    "expect_column_pair_values_a_to_be_greater_than_b": _pair("either_value_is_missing"),
    "expect_column_pair_values_to_be_equal": _pair(
        "either_value_is_missing", "both_values_are_missing"
    ),
    "expect_compound_columns_to_be_unique": _anything,
    "expect_select_column_values_to_be_unique_within_record": _within_record,
}


def obstacle(
    expectation: Expectation, columns: Columns, *, like: str | None = None, vouched: bool = False
) -> str | None:
    """The reason why pandas could judge this expectation differently from Spark; None if none.

    Args:
        like: The shipped type that it narrows, where it is one of the user's own.
        vouched: Whether its author wrote it for both engines.
    """
    kind, kwargs = expectation.type, expectation.kwargs
    rule = _anything if vouched else EQUIVALENT.get(like or kind)
    if rule is None:
        return f"{kind} is judged on Spark only"
    if "column_set" in kwargs or kind in _ABOUT_THE_TABLE:
        return None
    for name in expectation.columns:
        if name not in columns:
            # Both engines say that it is missing.
            return None
        if columns[name].kind == "other":
            return f"{kind}: column {name} is {columns[name].type}"
    why = rule(kwargs, columns) or _condition(kwargs, columns)
    return f"{kind}: {why}" if why else None


_ABOUT_THE_TABLE = {
    "expect_column_to_exist",
    "expect_table_columns_to_match_set",
    "expect_table_columns_to_match_ordered_list",
}


def _condition(kwargs: Mapping[str, Any], columns: Columns) -> str | None:
    condition = kwargs.get("row_condition")
    if condition is None:
        return None
    if isinstance(condition, str):
        return "its row condition is text for one engine"
    return None if _understood(condition, columns) else "its row condition may mean two things"


def _understood(condition: Mapping[str, Any], columns: Columns) -> bool:
    if "conditions" in condition:
        return all(_understood(part, columns) for part in condition["conditions"])
    if condition.get("type") == "nullity":
        return True
    if condition.get("operator") not in _CONDITION_OPERATORS:
        return False
    kind = columns[condition["column"]["name"]].kind
    given = condition.get("parameter")
    values = given if isinstance(given, list) else [given]
    if kind == "string":
        # Great Expectations puts them into SQL as they are.
        return all(isinstance(v, str) and not {"'", "\\"} & set(v) for v in values)
    if kind == "boolean":
        return condition["operator"] == "==" and isinstance(given, bool)
    return kind in _NUMBERS and all(map(_is_number, values))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
