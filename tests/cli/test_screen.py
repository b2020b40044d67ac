"""What a command prints can be read by the program that asked for it."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tidemill.cli.screen import Quantity, Screen
from tidemill.contract.errors import Refused, UsageError
from tidemill.contract.report import Outcome, Report
from tidemill.main import sentence


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


def test_a_row_in_a_pipe_is_one_line_without_padding(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().table("", ("name", "n"), [["a" * 300, Quantity(1234)], ["b\tc\nd", None]])

    assert capsys.readouterr().out.split("\n") == [
        "name\tn",
        f"{'a' * 300}\t1234",
        "b\\tc\\nd\t",
        "",
    ]


def test_in_a_window_columns_are_aligned_and_numbers_have_separators(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    Screen().table("", ("name", "n"), [["long name", Quantity(1234)], ["x", Quantity(5)]])

    _, first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.index("1,234") == second.index("5")


def test_rows_are_csv_on_standard_output_and_nothing_else_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    values = [['a "b", c', Quantity(1234)], ["two\nlines", None]]
    screen = Screen(as_csv=True)
    screen.line("said beside")
    screen.table("a title", ("text", "n"), values)

    written = capsys.readouterr()
    assert [*csv.reader(io.StringIO(written.out))] == [
        ["text", "n"],
        ['a "b", c', "1234"],
        ["two\nlines", ""],
    ]
    assert "said beside" in written.err


def test_csv_and_json_at_once_are_refused() -> None:
    with pytest.raises(UsageError):
        Screen(as_json=True, as_csv=True)


def test_an_error_names_the_command_that_explains_it_unless_its_message_says_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Screen().error(Refused("The disk is gone.", remedy="Mount it."))
    Screen().error(UsageError("There is no orders.", remedy="Name another."))

    refused, usage = capsys.readouterr().err.splitlines()
    assert refused.endswith(" tidemill explain Refused")
    assert "explain" not in usage


def test_the_line_of_a_step_that_was_refused_names_that_command_at_a_shell_only() -> None:
    error = Refused("The disk is gone.", remedy="Mount it.").as_dict()
    now = datetime(2026, 3, 1, tzinfo=UTC)
    report = Report(
        pipeline="orders",
        run_id="one",
        step="doctor",
        outcome=Outcome.REFUSED,
        error=error,
        reason=error["what"],
        started=now,
        finished=now,
    )

    assert "tidemill explain Refused" in sentence(report)
    assert "explain" not in sentence(report, in_airflow=True)
