"""How proposed expectations are shown."""

from collections.abc import Mapping, Sequence
from typing import Any

from tidemill.cli.screen import Screen
from tidemill.contract.counted import counted
from tidemill.steps.authoring.profile import percent


def show_expectations(screen: Screen, expectations: Sequence[Mapping[str, Any]]) -> None:
    """A row for each expectation: its column, what it expects, and how many rows have held it."""
    screen.table(
        counted(len(expectations), "expectation"),
        ("column", "expectation", "severity", "held"),
        (
            (
                one["kwargs"].get("column"),
                _what(one),
                one["severity"],
                percent(one["meta"]["held"]),
            )
            for one in expectations
        ),
    )


def _what(expectation: Mapping[str, Any]) -> str:
    words = expectation["type"].removeprefix("expect_").removeprefix("column_values_to_")
    given = (f"{name} {value}" for name, value in expectation["kwargs"].items() if name != "column")
    return " ".join([words.replace("_", " "), *given])
