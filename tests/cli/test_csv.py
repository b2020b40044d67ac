"""`--csv` is on each command that prints rows, and gives one table and nothing else."""

from __future__ import annotations

import csv

import pytest

from tests.cli.called_functions import commands_that_call, commands_with
from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import History, reject, rows
from tidemill.contract.errors import ExitCode

# They write files, and show what is in these beside that.
SHOWN_BESIDE = {"new", "suite infer"}


def test_each_command_that_prints_rows_offers_csv_and_no_other_does() -> None:
    printing = commands_that_call("screen.table")
    offering = commands_with("--csv")
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
