"""The page of errors has a row for each error, and what a row names is there."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache

import pytest

from tests.support.typed_commands import parsed, typed
from tidemill.contract.project import REPOSITORY

PAGE = REPOSITORY / "docs" / "errors.md"
CODE = ("spark_jobs/tidemill", "plugins/tidemill_airflow")
ROW = re.compile(r"^\| `(\w+)` \| (.*) \| (.*) \| (.*) \|(.*)\|$", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text())
KIND = re.compile(r"\*\*(command|spec|input|wait|restore|environment|usage)\*\*: \S")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
COMMAND = re.compile(r"`(tidemill [^`]+)`")
# Errors that only other classes are made of.
BASES = {"GapInLog", "TidemillError", "Refused", "SpecError", "TransientError", "UsageError"}
# Commands that only look, or the error of one: no state is freed by them.
NOT_SHOWN = {
    "EntryUnknown",
    "ExclusionsChanged",
    "KeepsState",
    "NoTable",
    "NothingAsked",
    "NotPartly",
    "NotShown",
    "Unbounded",
}


def errors() -> set[str]:
    """Every class below `TidemillError`, by name."""
    below = defaultdict[str, set[str]](set)
    for folder in CODE:
        for path in (REPOSITORY / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    for base in node.bases:
                        below[ast.unparse(base).rpartition(".")[2]].add(node.name)
    found, fresh = {"TidemillError"}, {"TidemillError"}
    while fresh:
        fresh = {name for base in fresh for name in below[base]} - found
        found |= fresh
    return found


@cache
def functions_of(path: str) -> set[str]:
    tree = ast.parse((REPOSITORY / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_each_error_has_one_row_in_the_order_of_the_alphabet() -> None:
    named = [name for name, *_ in ROWS]
    assert sorted(errors() - {*named}) == [], "give it a row in docs/errors.md"
    assert sorted({*named} - errors()) == [], "there is no such error"
    assert named == sorted(set(named))


@pytest.mark.parametrize(("name", "place", "means", "remedy", "tests"), ROWS)
def test_a_row_says_what_it_means_what_to_do_and_which_test_shows_it(
    name: str, place: str, means: str, remedy: str, tests: str
) -> None:
    assert place in ("shell", "Airflow", "both")
    assert means
    assert KIND.match(remedy)
    assert bool(COMMAND.search(remedy)) is ("**command**" in remedy)
    named = TEST.findall(tests)
    assert TEST.sub("", tests).strip(", ") == ""
    for path, test in named:
        assert test in functions_of(path), f"{path} has no {test}"
    if "**command**" in remedy:
        assert bool(named) is (name not in NOT_SHOWN | BASES)


@pytest.mark.parametrize("command", sorted(set(COMMAND.findall(PAGE.read_text()))))
def test_a_command_of_the_page_can_be_typed(command: str) -> None:
    given = command.replace("NAME", "orders").replace("INCREMENT", "3").split(maxsplit=1)[1]
    words = typed(given)
    assert words == given.split()
    parsed(words)
