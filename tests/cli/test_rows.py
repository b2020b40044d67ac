"""`tidemill rows` shows what consumers read, and what was rejected."""

from __future__ import annotations

from pathlib import Path

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


def test_the_rows_of_a_held_increment_are_shown_before_anybody_publishes_them(
    tidemill: Tidemill,
) -> None:
    found = tidemill("rows", "orders", "--increment", "3", "--json").json

    assert (found["increment"]["state"], found["increment"]["reasons"]) == ("held", ["bad"])
    assert (found["total"], [row["id"] for row in found["rows"]]) == (1, [4])
    assert found["rows"][0]["day"] == "2024-01-01"
    assert [path.rpartition("/")[2] for path in found["inputs"]] == ["f0002.csv"]


def test_the_rejected_rows_of_an_increment_come_with_reason_file_and_counts(
    tidemill: Tidemill, history: History
) -> None:
    history.increment([], [reject("x"), reject("y")], outcome="held")
    found = tidemill("rows", "orders", "--increment", "4", "--rejected", "--json").json

    assert (found["total"], found["rejected_by_reason"]) == (2, {"malformed": 2})
    assert [(row["reason"], row["record"]) for row in found["rows"]] == [
        ("malformed", "x"),
        ("malformed", "y"),
    ]
    shown = tidemill("rows", "orders", "--increment", "4", "--rejected").stdout
    assert "rejected: 2 malformed" in shown


def test_before_the_first_publish_the_way_to_an_increment_is_shown(
    tidemill: Tidemill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = History(tmp_path / "new")
    for name, value in first.environ.items():
        monkeypatch.setenv(name, value)
    first.increment(rows(1), outcome="held")

    said = tidemill("rows", "orders").stdout.splitlines()

    assert said[0] == "orders: nothing is published yet"
    assert said[1].endswith("tidemill rows orders --increment 1")


def test_an_increment_is_asked_for_by_its_own_number(tidemill: Tidemill) -> None:
    unknown = tidemill("rows", "orders", "--increment", "9", "--json")
    both = tidemill("rows", "orders", "--increment", "1", "--version", "0", "--json")

    assert {unknown.exit_code, both.exit_code} == {ExitCode.USAGE}
