"""The page of failure modes names tests that exist, in rows that are all there."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tidemill.contract.project import REPOSITORY

PAGE = REPOSITORY / "docs" / "concepts" / "failure-modes.md"
ROW = re.compile(r"^\| ([KJ]?\d+) \|(.*)\|(.*)\|(.*)\|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
ROWS = {number: cells for number, *cells in ROW.findall(PAGE.read_text())}


@cache
def functions_of(path: str) -> set[str]:
    """The names of the test functions of a file."""
    tree = ast.parse((REPOSITORY / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_there_are_35_failure_modes_and_12_kill_points_in_order() -> None:
    joints = [number for number in ROWS if number.startswith("J")]
    assert [*ROWS] == [
        *(str(number) for number in range(1, 36)),
        *(f"K{number}" for number in range(1, 13)),
        *(f"J{number}" for number in range(1, len(joints) + 1)),
    ]
    assert joints


@pytest.mark.parametrize("number", ROWS)
def test_a_row_says_what_happens_what_is_done_and_which_tests_show_it(number: str) -> None:
    happens, done, tests = (cell.strip() for cell in ROWS[number])
    assert happens
    assert done.split(":")[0].split()[0].strip(",;") in ("refused", "healed", "said", "harmless")
    named = TEST.findall(tests)
    assert named
    assert TEST.sub("", tests).strip(", ") == ""
    for path, test in named:
        assert test in functions_of(path), f"{path} has no {test}"
