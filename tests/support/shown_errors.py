"""The errors that `docs/errors.md` and the mark `remedy` say a test raises, and those it raises."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from tidemill.contract.errors import TidemillError
from tidemill.contract.project import REPOSITORY

PAGE = REPOSITORY / "docs" / "errors.md"
ROW = re.compile(r"^\| `(\w+)` \| (.*) \| (.*) \| (.*) \|(.*)\|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
# The name of an outcome in reports, which nothing raises.
OUTCOMES = {"Held"}
# What the test that is running has raised; None while no such test runs.
_seen: set[str] | None = None


@cache
def rows() -> list[tuple[str, ...]]:
    """The rows of the page: error, where it is read, what it means, what to do, tests."""
    return ROW.findall(PAGE.read_text())


@cache
def _shown() -> dict[str, set[str]]:
    """`file::function` of a test -> the errors that the page says it shows."""
    found = defaultdict[str, set[str]](set)
    for name, *_, tests in rows():
        for path, test in TEST.findall(tests):
            found[f"{path}::{test}"].add(name)
    return found


def expected_of(item: pytest.Item) -> set[str]:
    """The errors that a test has to raise; one with an error as parameter has only that."""
    expected = set(_shown().get(item.nodeid.partition("[")[0], ()))
    for mark in item.iter_markers("remedy"):
        expected.update(mark.args)
    expected -= OUTCOMES
    call: Any = getattr(item, "callspec", None)
    given = {_name(value) for value in call.params.values()} if call else set()
    named = given & {name for name, *_ in rows()}
    return expected & named if named else expected


def _name(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else str(value)


@contextmanager
def seen() -> Iterator[set[str]]:
    """The names of the errors that are raised meanwhile, and of the classes they derive from."""
    global _seen
    names = _seen = set[str]()
    original = TidemillError.__init__

    def recording(self: TidemillError, *arguments: Any, **named: Any) -> None:
        names.update(one.__name__ for one in type(self).__mro__)
        original(self, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TidemillError, "__init__", recording)
        yield names
    _seen = None


def seen_in(output: str) -> None:
    """Take the errors that a process of its own has named in its output for seen."""
    if _seen is not None:
        _seen.update(name for name, *_ in rows() if re.search(rf"\b{name}\b", output))
