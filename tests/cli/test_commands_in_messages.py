"""Each `tidemill` command that a message names can be typed as it stands there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.typed_commands import parsed, typed
from tidemill.contract.project import REPOSITORY

CODE = ("spark_jobs/tidemill", "plugins/tidemill_airflow")


def texts_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The strings of a module but its docstrings, filled with samples."""
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(map(_filled, node.values))
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings | parts
        ):
            yield node.lineno, node.value


def _filled(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    value = ast.unparse(getattr(part, "value", part))
    if value == "option":
        return ""
    return "3" if re.search("number|increment|seq|version", value) else "orders"


def commands() -> Iterator[Any]:
    for folder in CODE:
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            for line, text in texts_of(ast.parse(path.read_text())):
                for start in re.finditer(r"\btidemill (?=[a-z])", text):
                    found = typed(text[start.end() :])
                    if found:
                        place = f"{path.relative_to(REPOSITORY)}:{line}"
                        yield pytest.param(found, id=f"{place} {' '.join(found)}")


@pytest.mark.parametrize("words", commands())
def test_a_command_in_a_message_parses_as_it_stands_there(words: list[str]) -> None:
    assert "NAME" not in words
    parsed(words)


def test_most_commands_are_named_in_messages() -> None:
    assert len([*commands()]) > 50


@pytest.mark.parametrize("text", ["rebuild.", "redo orders", "release orders soon", "run NAME"])
def test_a_command_that_lacks_something_is_found(text: str) -> None:
    words = typed(text)
    assert words is not None
    with pytest.raises((AssertionError, Exception)):
        test_a_command_in_a_message_parses_as_it_stands_there(words)
