"""`tidemill history` tells what happened to a pipeline, in the order in which it did."""

from __future__ import annotations

import csv
from datetime import UTC, datetime

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import History, reject, rows
from tidemill.contract.errors import ExitCode
from tidemill.increments.records import Rejection

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.usefixtures("history")
def test_a_pipeline_that_never_ran_has_no_entries(tidemill: Tidemill) -> None:
    answer = tidemill("history", "orders", "--json")

    assert answer.exit_code == ExitCode.DONE
    assert answer.json == {"pipeline": "orders", "total": 0, "entries": []}


def test_an_increment_is_sealed_judged_and_applied_in_this_order(
    tidemill: Tidemill, history: History
) -> None:
    history.increment(rows(1, 2), [reject("bad")])
    history.publish()

    entries = tidemill("history", "orders", "--json").json["entries"]

    assert [(one["what"], one["kind"], one["increment"], one["event"]) for one in entries] == [
        ("sealed", None, 1, None),
        ("verdict", "passed", 1, None),
        ("event", "increment", 1, 1),
        ("applied", "delta", 1, 1),
    ]
    assert [one["at"] for one in entries] == sorted(one["at"] for one in entries)


def test_a_held_increment_has_its_reasons_and_the_decision_its_person(
    tidemill: Tidemill, history: History
) -> None:
    history.batch(rows(1))
    history.judge(history.seal().increment, "held", NOON)
    history.release(1, by="ann", reason="known")

    entries = tidemill("history", "orders", "--json").json["entries"]

    found = {one["what"]: (one["kind"], one["by"], one["said"]) for one in entries}
    assert found["verdict"] == ("held", None, "bad")
    assert found["release"] == (None, "ann", "known")


def test_a_rejection_has_its_person(tidemill: Tidemill, history: History) -> None:
    history.batch(rows(1))
    sealed = history.seal()
    history.judge(sealed.increment, "held", NOON)
    history.increments.decide(
        Rejection(
            increment=1, files_hash=sealed.files_hash, by="bob", reason="a test file", rejected=NOON
        )
    )

    entries = tidemill("history", "orders", "--json").json["entries"]

    (rejection,) = [one for one in entries if one["what"] == "rejection"]
    assert (rejection["increment"], rejection["by"]) == (1, "bob")
    assert rejection["said"] == "a test file"


def test_the_limit_leaves_the_newest(tidemill: Tidemill, history: History) -> None:
    for number in (1, 2):
        history.increment(rows(number))
    history.publish()

    answer = tidemill("history", "orders", "--limit", "3", "--json").json

    assert answer["total"] == 8
    assert [one["what"] for one in answer["entries"]][-1] == "applied"
    assert len(answer["entries"]) == 3


def test_the_entries_are_rows_of_csv(tidemill: Tidemill, history: History) -> None:
    history.increment(rows(1))

    lines = tidemill("history", "orders", "--csv", "--utc").stdout.splitlines()

    assert [row["what"] for row in csv.DictReader(lines)] == ["sealed", "verdict"]
