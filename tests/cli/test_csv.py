"""`--csv` is on each command that prints rows, and gives one table and nothing else."""

from __future__ import annotations

import ast
import csv
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cli.conftest import Tidemill
from tests.cli.test_help import commands
from tests.support.histories.history_builder import History, reject, rows
from tidemill.contract.errors import ExitCode

# They write files, and show what is in these beside that.
SHOWN_BESIDE = {"new", "suite infer"}


def leaves() -> dict[str, Any]:
    """Every command that has none below it, by its words."""
    found = {str(one.id): one.values[0] for one in commands()}
    return {name: one for name, one in found.items() if not hasattr(one, "commands")}


def calls(function: Callable[..., Any]) -> Iterator[ast.expr]:
    """What the body of a function calls."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))


def prints_rows(function: Callable[..., Any]) -> bool:
    """Whether a function, or one of the command line's that it calls, shows a table."""
    pending, seen = [inspect.unwrap(function)], set[Callable[..., Any]]()
    while pending:
        one = pending.pop()
        seen.add(one)
        for called in calls(one):
            if ast.unparse(called) == "screen.table":
                return True
            found = _resolved(called, one)
            if inspect.isfunction(found) and found.__module__.startswith("tidemill.cli"):
                pending += {found} - seen
    return False


def _resolved(called: ast.expr, within: Callable[..., Any]) -> Any:
    known = getattr(within, "__globals__", {})
    if isinstance(called, ast.Name):
        return known.get(called.id)
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        return getattr(known.get(called.value.id), called.attr, None)
    return None


def test_each_command_that_prints_rows_offers_csv_and_no_other_does() -> None:
    printing = {name for name, one in leaves().items() if prints_rows(one.callback)}
    offering = {
        name for name, one in leaves().items() if any("--csv" in p.opts for p in one.params)
    }
    assert printing - offering == SHOWN_BESIDE
    assert offering - printing == set()


READING = (
    *(("status",), ("status", "orders"), ("rows", "orders"), ("rows", "orders", "--rejected")),
    *(("rows", "orders", "--increment", "2"), ("diff", "orders"), ("history", "orders")),
    *(("journal", "show", "orders"), ("check", "orders"), ("info",), ("explain",)),
    *(("example", "list"), ("sql", "SELECT id FROM orders"), ("doctor", "orders")),
)


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_standard_output_has_one_table_of_csv(
    words: tuple[str, ...], history: History, tidemill: Tidemill
) -> None:
    history.increment(rows(1, 2), [reject("bad")])
    history.publish()
    history.increment(rows(3))
    history.publish()
    answer = tidemill(*words, "--csv")
    lines = [*csv.reader(answer.stdout.splitlines())]
    assert lines, answer.stderr
    assert {len(line) for line in lines} == {len(lines[0])}
    assert len(lines[0]) == len({*lines[0]})


def test_json_and_csv_exclude_each_other_everywhere(tidemill: Tidemill) -> None:
    answer = tidemill("info", "--csv", "--json")
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "UsageError")
