"""The page on clusters: each row says what holds, and names tests that exist."""

from __future__ import annotations

import re

import pytest

from tests.test_failure_modes import TEST, functions_of
from tidemill.contract.project import REPOSITORY

PAGE = (REPOSITORY / "docs" / "operations" / "on-a-cluster.md").read_text()
TABLE = PAGE.partition("## Each part of Spark's document")[2]
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \|([^|]*)\|$", TABLE, re.MULTILINE)[1:]
# What needs a test, and what cannot have one.
SHOWN, NOT_SHOWN = ("works", "refused", "switched off"), ("Spark's", "cannot")


def test_the_page_has_a_row_for_each_part() -> None:
    assert len(ROWS) == 23


@pytest.mark.parametrize(("part", "here", "tests"), ROWS, ids=[part for part, *_ in ROWS])
def test_a_row_says_what_holds_and_its_tests_exist(part: str, here: str, tests: str) -> None:
    named = TEST.findall(tests)
    assert here.startswith(SHOWN + NOT_SHOWN)
    assert named or here.startswith(NOT_SHOWN)
    assert len(named) == len(re.findall(r"`[^`]+`", tests))
    for path, test in named:
        assert test in functions_of(path), test
