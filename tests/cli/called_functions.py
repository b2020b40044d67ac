"""Which commands call a function of the command line, themselves or through another one."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from tests.cli.test_help import commands


def commands_that_call(what: str) -> set[str]:
    """The commands, by their words, that call `what`, written as the code writes it."""
    return {name for name, one in _leaves().items() if _calls(one.callback, what)}


def commands_with(option: str) -> set[str]:
    """The commands, by their words, that offer an option."""
    return {name for name, one in _leaves().items() if any(option in p.opts for p in one.params)}


def _leaves() -> dict[str, Any]:
    """Every command that has none below it."""
    found = {str(one.id): one.values[0] for one in commands()}
    return {name: one for name, one in found.items() if not hasattr(one, "commands")}


def _calls(function: Callable[..., Any], what: str) -> bool:
    pending, seen = [inspect.unwrap(function)], set[Callable[..., Any]]()
    while pending:
        one = pending.pop()
        seen.add(one)
        for called in _called(one):
            if ast.unparse(called) == what:
                return True
            found = _resolved(called, one)
            if inspect.isfunction(found) and found.__module__.startswith("tidemill.cli"):
                pending += {found} - seen
    return False


def _called(function: Callable[..., Any]) -> Iterator[ast.expr]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))


def _resolved(called: ast.expr, within: Callable[..., Any]) -> Any:
    known = getattr(within, "__globals__", {})
    if isinstance(called, ast.Name):
        return known.get(called.id)
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        return getattr(known.get(called.value.id), called.attr, None)
    return None
