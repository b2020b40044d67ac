"""Times are shown in the zone of the spec, or in UTC where that is asked for."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tests.cli.called_functions import commands_that_call, commands_with
from tests.cli.conftest import Answer, Tidemill
from tests.support.histories.history_builder import History, rows
from tests.support.histories.left_behind import leave_behind

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def csv_of(answer: Answer) -> list[dict[str, str]]:
    return [*csv.DictReader(answer.stdout.splitlines())]


@pytest.fixture(autouse=True)
def in_honolulu(history: History) -> None:
    spec = history.project.spec("orders")
    spec.write_text(f"{spec.read_text()}\ntimezone: Pacific/Honolulu\n")
    history.batch(rows(1))
    history.judge(history.seal().increment, "held", NOON)


@pytest.mark.parametrize("command", [("status", "orders"), ("rows", "orders", "--increment", "1")])
def test_a_time_is_in_the_specs_zone(tidemill: Tidemill, command: tuple[str, ...]) -> None:
    assert "held since 2026-03-01 02:00 HST" in tidemill(*command).stdout
    assert "held since 2026-03-01 12:00 UTC" in tidemill(*command, "--utc").stdout


def test_each_command_that_shows_a_time_offers_utc_and_no_other_does() -> None:
    assert commands_with("--utc") == commands_that_call("time_shown")


def test_the_events_of_the_journal_and_leftovers_are_told_in_the_specs_zone(
    tidemill: Tidemill, history: History
) -> None:
    history.release(1)
    history.publish()
    (event,) = history.journal.events()
    there = event.at.astimezone(ZoneInfo("Pacific/Honolulu"))
    for options, at in (((), there), (("--utc",), event.at)):
        (row,) = csv_of(tidemill("journal", "show", "orders", "--csv", *options))
        assert row["at"] == f"{at:%Y-%m-%d %H:%M %Z}"
    leave_behind(history)
    for options, zone in (((), "HST"), (("--utc",), "UTC")):
        leftovers = csv_of(tidemill("vacuum", "orders", "--csv", *options))
        assert {row["oldest"].split()[-1] for row in leftovers} == {zone}


def test_json_keeps_utc(tidemill: Tidemill) -> None:
    (increment,) = tidemill("status", "orders", "--json").pipeline["increments"]

    assert increment["since"] == "2026-03-01T12:00:00Z"


def test_a_spec_that_does_not_load_leaves_utc(tidemill: Tidemill, history: History) -> None:
    history.project.spec("orders").write_text("publish: [")

    assert "held since 2026-03-01 12:00 UTC" in tidemill("status", "orders").stdout


def test_the_increments_are_rows_of_csv(tidemill: Tidemill) -> None:
    (row,) = csv_of(tidemill("status", "orders", "--csv", "--utc"))

    assert row["increment"] == "000001"
    assert row["state"] == "held since 2026-03-01 12:00 UTC"
