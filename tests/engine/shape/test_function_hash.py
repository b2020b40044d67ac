"""The hash of a function follows what it does, and not where it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tidemill.engine.shape.function_hash import hash_of_function

CODE = """
RATE = 3


def twice(value):
    return value * 2


class Price:
    def of(self, value):
        return twice(value) + RATE


def price(value, unit="kg"):
    \"\"\"The price.\"\"\"
    return Price().of(value), [value for value in (1, 2)], unit
"""


def price_of(code: str) -> Callable[..., Any]:
    """The function `price` of a file with this code, which no module is."""
    names: dict[str, Any] = {"__name__": "a_transform"}
    exec(compile(code, "transform.py", "exec"), names)  # noqa: S102
    found: Callable[..., Any] = names["price"]
    return found


def test_lines_above_and_what_is_written_about_it_change_nothing() -> None:
    moved = "\n\n# Moved.\nimport os\n" + CODE.replace("The price.", "What it costs.")
    assert hash_of_function(price_of(moved)) == hash_of_function(price_of(CODE))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('unit="kg"', 'unit="t"'),
        ("(1, 2)", "(1, 3)"),
        ("RATE = 3", "RATE = 4"),
        ("value * 2", "value + 2"),
        ("twice(value) + RATE", "twice(value) - RATE"),
        ("twice(value) + RATE", "abs(value) + RATE"),
    ],
    ids=["default", "constant", "global", "callee", "method", "other callee"],
)
def test_what_it_uses_counts(before: str, after: str) -> None:
    changed = hash_of_function(price_of(CODE.replace(before, after)))
    assert changed != hash_of_function(price_of(CODE))


def test_values_that_it_closes_over_count() -> None:
    def times(factor: int) -> Callable[[int], int]:
        return lambda value: value * factor

    assert hash_of_function(times(2)) == hash_of_function(times(2))
    assert hash_of_function(times(2)) != hash_of_function(times(3))


def test_a_function_that_calls_itself_has_a_hash() -> None:
    code = "def price(value):\n    return price(value - 1) if value else 0\n"
    assert hash_of_function(price_of(code)) == hash_of_function(price_of(code))
