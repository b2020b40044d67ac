"""Checks expectations whose arguments or kind ask for columns of another type."""

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from tidemill.gate.suite import Expectation, SuiteError, load_suite
from tidemill.steps.read_only.checks.problem import Problem, line_of

_NUMBERS = frozenset(
    f"{name}Type" for name in ("Byte", "Short", "Integer", "Long", "Float", "Double", "Decimal")
)
_TIMES = frozenset({"DateType", "TimestampType", "TimestampNTZType"})
_OF_NUMBERS = frozenset(
    f"expect_column_{name}_to_be_between"
    for name in ("mean", "median", "stdev", "sum", "quantile_values")
) | {"expect_column_value_z_scores_to_be_less_than"}
# The expectations whose arguments are compared with the column's own values.
_OF_VALUES = frozenset(
    f"expect_column_{name}"
    for name in (
        "values_to_be_between",
        "values_to_be_in_set",
        "values_to_not_be_in_set",
        "min_to_be_between",
        "max_to_be_between",
        "most_common_value_to_be_in_set",
        "distinct_values_to_be_in_set",
        "distinct_values_to_contain_set",
        "distinct_values_to_equal_set",
    )
)
_BOUNDS = ("min_value", "max_value", "value_set")


def problems_of_types(path: Path, types: Mapping[str, str]) -> Iterator[Problem]:
    """The expectations that Spark could not judge, or that no value can meet.

    Args:
        path: The suite's file. One that does not load has been reported.
        types: Column of the result -> Spark's class of its type, such as `IntegerType`.
    """
    try:
        suite = load_suite(path)
    except SuiteError:
        return
    text = path.read_text(encoding="utf-8")
    for one in suite.expectations:
        column = one.kwargs.get("column")
        kind = types.get(column) if isinstance(column, str) else None
        found = None if kind is None else _problem(one, kind)
        if found is not None:
            what = f"{one.type} expects {found[0]}, and column '{column}' is {kind}"
            yield Problem(path, line_of(text, one.type), what, found[1])


def _problem(one: Expectation, kind: str) -> tuple[str, str] | None:
    """The noun that is expected in place of the column's type, and what to do."""
    if one.type in _OF_NUMBERS:
        change = "Name a column of numbers, or cast it in the transform."
        return None if kind in _NUMBERS else ("numbers", change)
    named = _types_named(one)
    if named and kind not in named:
        return " or ".join(named), f"Write {kind}, or cast the column in the transform."
    for value in _values(one) if one.type in _OF_VALUES else ():
        if kind in _NUMBERS and isinstance(value, str) and not _is_number(value):
            return f"the text '{value}'", "Compare it with numbers."
        if kind in _TIMES and (_is_plain_number(value) or not _is_time(value)):
            return f"the value {value!r}", "Compare it with dates, as in '2026-03-01'."
        if kind == "StringType" and _is_plain_number(value):
            return f"the number {value}", "Write the value as a text, or cast it in the transform."
    return None


def _types_named(one: Expectation) -> tuple[str, ...]:
    given = one.kwargs.get("type_list") or one.kwargs.get("type_") or ()
    names = [given] if isinstance(given, str) else given
    # Names of another engine's types are for that engine.
    return tuple(names) if all(str(name).endswith("Type") for name in names) else ()


def _values(one: Expectation) -> Iterator[Any]:
    for name in _BOUNDS:
        given = one.kwargs.get(name)
        for value in given if isinstance(given, list) else [given]:
            # An evaluation parameter is an object, whose value is known later.
            if isinstance(value, str | int | float):
                yield value


def _is_plain_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_time(value: Any) -> bool:
    for read in (date.fromisoformat, datetime.fromisoformat):
        try:
            read(str(value))
        except ValueError:
            continue
        return True
    return False
