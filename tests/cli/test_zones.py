"""Times are shown in the zone of the spec, or in UTC where that is asked for."""

from __future__ import annotations

import csv
from datetime import UTC, datetime

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import History, rows

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


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


def test_json_keeps_utc(tidemill: Tidemill) -> None:
    (increment,) = tidemill("status", "orders", "--json").pipeline["increments"]

    assert increment["since"] == "2026-03-01T12:00:00Z"


def test_a_spec_that_does_not_load_leaves_utc(tidemill: Tidemill, history: History) -> None:
    history.project.spec("orders").write_text("publish: [")

    assert "held since 2026-03-01 12:00 UTC" in tidemill("status", "orders").stdout


def test_the_increments_are_rows_of_csv(tidemill: Tidemill) -> None:
    (row,) = csv.DictReader(tidemill("status", "orders", "--csv", "--utc").stdout.splitlines())

    assert row["increment"] == "000001"
    assert row["state"] == "held since 2026-03-01 12:00 UTC"
