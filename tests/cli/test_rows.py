"""`tidemill rows` shows what consumers read, and what was rejected."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import History, reject, rows
from tidemill.contract.errors import ExitCode


@pytest.fixture(autouse=True)
def two_versions(history: History) -> None:
    history.increment(rows(1, 2), [reject("bad line")])
    history.publish()
    history.increment(rows(3))
    history.publish()
    history.increment(rows(4), outcome="held")


def test_published_rows_and_no_held_ones_are_shown(tidemill: Tidemill) -> None:
    found = tidemill("rows", "orders", "--json").json

    assert (found["version"], found["total"]) == (1, 3)
    assert found["columns"] == ["id", "amount", "at", "text", "day"]
    assert sorted(row["id"] for row in found["rows"]) == [1, 2, 3]
    assert next(row for row in found["rows"] if row["id"] == 2) == {
        "id": 2,
        "amount": "2.25",
        "at": "2024-01-01T12:00:00+00:00",
        "text": "row 2",
        "day": "2024-01-01",
    }


def test_an_older_version_is_shown_as_it_was(tidemill: Tidemill) -> None:
    found = tidemill("rows", "orders", "--version", "0", "--json").json

    assert (found["version"], found["total"]) == (0, 2)
    assert sorted(row["id"] for row in found["rows"]) == [1, 2]


def test_the_limit_bounds_what_is_shown_and_not_what_is_counted(tidemill: Tidemill) -> None:
    found = tidemill("rows", "orders", "--limit", "1", "--json").json

    assert (len(found["rows"]), found["total"]) == (1, 3)


def test_rejected_rows_come_with_reason_and_file(tidemill: Tidemill) -> None:
    found = tidemill("rows", "orders", "--rejected", "--json").json

    assert found["total"] == 1
    row = found["rows"][0]
    assert (row["reason"], row["record"], row["increment"]) == ("malformed", "bad line", 1)
    assert row["file"] == "file:///in/x.csv"


def test_a_version_that_never_was_is_wrong_usage(tidemill: Tidemill) -> None:
    answer = tidemill("rows", "orders", "--version", "9", "--json")

    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "NoSuchVersion")
    assert answer.json["data"] == {"version": 9, "newest": 1}


def test_before_the_first_publish_there_are_no_rows(tidemill: Tidemill) -> None:
    answer = tidemill("rows", "shop_orders", "--json")

    assert answer.exit_code == ExitCode.DONE
    assert (answer.json["version"], answer.json["rows"]) == (None, [])
    assert tidemill("rows", "shop_orders", "--version", "0").exit_code == ExitCode.USAGE


def test_people_read_a_table(tidemill: Tidemill) -> None:
    shown = tidemill("rows", "orders").stdout.splitlines()

    assert shown[0].strip() == "version 1: 3 of 3 rows"
    assert shown[1].split() == ["id", "amount", "at", "text", "day"]
    assert sorted(line.split()[0] for line in shown[2:]) == ["1", "2", "3"]
