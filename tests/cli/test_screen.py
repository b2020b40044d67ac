"""What a command prints can be read by the program that asked for it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tidemill.cli.screen import Screen


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Decimal("2.10"), "2.10"),
        (datetime(2026, 3, 1, 12, tzinfo=UTC), "2026-03-01T12:00:00+00:00"),
        (date(2026, 3, 1), "2026-03-01"),
        (time(12, 30), "12:30:00"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (b"\x00\xff", "00ff"),
        (Path("/a/b"), "/a/b"),
        ({date(2026, 3, 1): (1, None, True)}, {"2026-03-01": [1, None, True]}),
        ("é", "é"),
    ],
)
def test_every_value_of_a_table_has_a_place_in_json(
    value: Any, shown: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    Screen(as_json=True).document({"value": value})

    def no_constant(name: str) -> None:
        pytest.fail(f"{name} is not JSON")

    document = json.loads(capsys.readouterr().out, parse_constant=no_constant)
    assert document == {"value": shown}


def test_brackets_in_data_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().table("[1]", ("a",), [["[red]x[/red]"], [None]])
    Screen().line("[bold] stays")

    shown = capsys.readouterr().out
    assert "[red]x[/red]" in shown
    assert "[1]" in shown
    assert "[bold] stays" in shown


def test_what_is_nested_is_shown_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().table("", ("key",), [[{"at": datetime(2026, 3, 1, tzinfo=UTC), "ids": ["ä", None]}]])

    assert '{"at": "2026-03-01T00:00:00+00:00", "ids": ["ä", null]}' in capsys.readouterr().out


def test_the_title_of_a_narrow_table_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().table("version 0: 1 of 1 row", ("n",), [[2]])

    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "version 0: 1 of 1 row",
        "n",
        "2",
    ]


def test_a_line_is_never_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().line("word " * 200)

    assert len(capsys.readouterr().out.splitlines()) == 1
