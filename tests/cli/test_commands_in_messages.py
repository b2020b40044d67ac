"""Each `tidemill` command that a message names can be typed as it stands there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.main import get_command

from tidemill.cli.app import app
from tidemill.contract.project import REPOSITORY

CODE = ("spark_jobs/tidemill", "plugins/tidemill_airflow")
COMMAND = re.compile(r"\btidemill ([a-z].*)", re.DOTALL)
END = ".,;:)`'"
ROOT: Any = get_command(app)


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
    value = ast.unparse(part)
    return "3" if re.search("number|increment|seq|version", value) else "orders"


def typed(text: str) -> list[str] | None:
    """The words of a command at the start of a text, as far as its own parser takes them."""
    words, command, found = text.split(), ROOT, list[str]()
    while words and hasattr(command, "commands"):
        word = words.pop(0)
        name = word.rstrip(END)
        if name not in command.commands:
            return None if not found else [*found, name]
        command = command.commands[name]
        found.append(name)
        if word != name:
            return found
    options = {name: p for p in command.params for name in p.opts if p.param_type_name == "option"}
    room = sum(p.param_type_name == "argument" for p in command.params)
    while words:
        word = words.pop(0)
        name = word.rstrip(END)
        if name.startswith("--"):
            option = options.get(name.partition("=")[0])
            found.append(name)
            if option is not None and not option.is_flag and "=" not in name and words:
                word = words.pop(0)
                found.append(word.rstrip(END))
        elif room and not name.startswith("("):
            found.append(name)
            room -= 1
        else:
            break
        if word[-1] in END:
            break
    return found


def commands() -> Iterator[Any]:
    for folder in CODE:
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            for line, text in texts_of(ast.parse(path.read_text())):
                for start in re.finditer(r"\btidemill (?=[a-z])", text):
                    found = typed(text[start.end() :])
                    if found:
                        place = f"{path.relative_to(REPOSITORY)}:{line}"
                        yield pytest.param(found, id=f"{place} {' '.join(found)}")


def parsed(words: list[str]) -> None:
    """Parse a command with the program's own parser, and run nothing."""
    command, context = ROOT, None
    for position, name in enumerate(words):
        if not hasattr(command, "commands"):
            command.make_context(words[position - 1], [*words[position:]], parent=context)
            return
        context = typer.Context(command, info_name=name, parent=context)
        command = command.commands[name]
    command.make_context(words[-1], [], parent=context)


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
