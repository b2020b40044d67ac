"""The page of errors has a row for each error, and what a row names is there."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache

import pytest

from tests.support.shown_errors import PAGE, TEST, rows
from tests.support.typed_commands import parsed, typed
from tidemill.contract.project import REPOSITORY

CODE = ("spark_jobs/tidemill", "plugins/tidemill_airflow")
KIND = re.compile(r"\*\*(command|spec|input|wait|restore|environment|usage)\*\*: \S")
COMMAND = re.compile(r"`(tidemill [^`]+)`")
# The command starts a stream, for which there is nothing to free.
NOT_CARRIED_OUT = {"NoRunningQuery", "NoSample"}


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
def functions_of(path: str) -> dict[str, set[str]]:
    """The functions of a module, each with the errors whose remedy it says to carry out."""
    tree = ast.parse((REPOSITORY / path).read_text())
    tables = {
        ast.unparse(node.targets[0]): {ast.literal_eval(key) for key in node.value.keys if key}
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
        if all(isinstance(key, ast.Constant) for key in node.value.keys)
    }
    found = defaultdict[str, set[str]](set)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found[node.name].update(*(_remedies(one, tables) for one in node.decorator_list))
    return found


def _remedies(decorator: ast.expr, tables: dict[str, set[str]]) -> set[str]:
    if not (isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith(".remedy")):
        return set()
    return set[str]().union(
        *(
            tables[ast.unparse(one.value)]
            if isinstance(one, ast.Starred)
            else {ast.literal_eval(one)}
            for one in decorator.args
        )
    )


def test_each_error_has_one_row_in_the_order_of_the_alphabet() -> None:
    named = [name for name, *_ in rows()]
    assert sorted(errors() - {*named}) == [], "give it a row in docs/errors.md"
    assert sorted({*named} - errors()) == [], "there is no such error"
    assert named == sorted(set(named))


@pytest.mark.parametrize(("name", "place", "means", "remedy", "tests"), rows())
def test_a_row_says_what_it_means_what_to_do_and_which_test_shows_it(
    name: str, place: str, means: str, remedy: str, tests: str
) -> None:
    assert place in ("shell", "Airflow", "both")
    assert means
    assert KIND.match(remedy)
    assert bool(COMMAND.search(remedy)) is ("**command**" in remedy)
    named = TEST.findall(tests)
    assert named, "name a test that raises it"
    assert TEST.sub("", tests).strip(", ") == ""
    for path, test in named:
        assert test in functions_of(path), f"{path} has no {test}"
    carried_out = any(name in functions_of(path)[test] for path, test in named)
    if "**command**" in remedy:
        assert carried_out is (name not in NOT_CARRIED_OUT)


@pytest.mark.parametrize("command", sorted(set(COMMAND.findall(PAGE.read_text()))))
def test_a_command_of_the_page_can_be_typed(command: str) -> None:
    given = command.replace("NAME", "orders").replace("INCREMENT", "3").split(maxsplit=1)[1]
    words = typed(given)
    assert words == given.split()
    parsed(words)
