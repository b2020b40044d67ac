"""`tidemill release`: a person lets a held increment out, by name and with a reason."""

from __future__ import annotations

import getpass
import json
import os
from typing import Any

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import History, rows
from tidemill.contract.errors import ExitCode
from tidemill.contract.report import Outcome
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform


@pytest.fixture(autouse=True)
def held_between_two_good_ones(history: History) -> None:
    history.increment(rows(1))
    history.increment(rows(2), outcome="held")
    history.increment(rows(3))
    history.publish()


def states(tidemill: Tidemill) -> list[str]:
    return [i["state"] for i in tidemill("status", "orders", "--json").pipeline["increments"]]


@pytest.mark.parametrize("number", ["2", "0002", "000002"])
def test_a_release_records_who_and_why_and_publishes_nothing_yet(
    tidemill: Tidemill, history: History, number: str
) -> None:
    answer = tidemill("release", "orders", number, "--reason", "refunds", "--by", "Ada", "--json")

    assert answer.exit_code == ExitCode.DONE
    assert answer.json["publish"] is None
    increment = history.snapshot.get(2)
    assert increment.release is not None
    assert (increment.release.by, increment.release.reason) == ("Ada", "refunds")
    assert increment.release.files_hash == increment.sealed.files_hash
    assert states(tidemill) == ["published", "released", "passed"]
    assert history.ids() == [1]


def test_without_a_name_it_is_the_users_own(tidemill: Tidemill, history: History) -> None:
    tidemill("release", "orders", "2", "--reason", "refunds")

    release = history.snapshot.get(2).release
    assert release is not None
    assert release.by == getpass.getuser()


def test_whoever_it_is_said_to_be_the_user_of_the_process_stands_beside_it(
    tidemill: Tidemill, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a shell can say of itself.
    monkeypatch.setenv("LOGNAME", "the_boss")
    really = f"(uid {os.getuid()})"
    tidemill("release", "orders", "2", "--reason", "refunds", "--by", "the boss")
    history.publish("next")

    (shown,) = (
        one
        for one in tidemill("status", "orders", "--json").pipeline["increments"]
        if one["decided_by"] == "the boss"
    )
    assert really in shown["os_user"]
    assert really in tidemill("status", "orders").stdout
    (event,) = (one for one in history.journal.events() if one.release is not None)
    assert event.release is not None
    assert event.release["os_user"] == shown["os_user"]


def test_a_release_of_before_that_was_noted_is_read(tidemill: Tidemill, history: History) -> None:
    tidemill("release", "orders", "2", "--reason", "refunds", "--by", "Ada")
    (path,) = history.layout.increments.rglob("release.json")
    written = json.loads(path.read_text())
    del written["os_user"]
    path.write_text(json.dumps(written))

    found = tidemill("status", "orders", "--json").pipeline["increments"][1]
    assert (found["decided_by"], found["os_user"]) == ("Ada", None)


def test_the_next_publish_lets_out_everything_in_order(
    tidemill: Tidemill, history: History
) -> None:
    tidemill("release", "orders", "2", "--reason", "refunds", "--by", "Ada")

    history.publish("next")

    assert states(tidemill) == ["published"] * 3
    versions = [i["version"] for i in tidemill("status", "orders", "--json").pipeline["increments"]]
    assert versions == [0, 1, 2]
    assert history.ids() == [1, 2, 3]


def test_a_release_is_work_for_the_next_run(tidemill: Tidemill, history: History) -> None:
    before = perform("doctor", doctor, history.run())
    tidemill("release", "orders", "2", "--reason", "refunds")
    after = perform("doctor", doctor, history.run())

    assert (before.outcome, after.outcome) == (Outcome.SKIPPED, Outcome.DONE)
    assert after.facts["work"] == [
        {"kind": "publish", "increment": 2},
        {"kind": "publish", "increment": 3},
    ]


def test_publishing_at_once_writes_the_reason_into_the_tables_history(
    tidemill: Tidemill, history: History
) -> None:
    arguments = ("--reason", "refunds", "--by", "Ada", "--publish", "--json")
    answer = tidemill("release", "orders", "2", *arguments)

    assert answer.exit_code == ExitCode.DONE
    published: list[dict[str, Any]] = answer.json["publish"]["facts"]["published"]
    assert [(p["increment"], p["version"]) for p in published] == [(2, 1), (3, 2)]
    said = {h["version"]: h.get("tidemill.release") for h in history.delta().history()}
    assert (said[0], said[2]) == (None, None)
    release = json.loads(said[1])
    assert (release["by"], release["reason"]) == ("Ada", "refunds")


def test_a_released_one_still_waits_its_turn(tidemill: Tidemill, history: History) -> None:
    history.increment(rows(4), outcome="held")

    answer = tidemill("release", "orders", "4", "--reason", "refunds", "--publish", "--json")

    assert answer.exit_code == ExitCode.HELD
    assert answer.json["publish"]["outcome"] == "waiting"
    assert answer.json["publish"]["facts"]["held"] == 2
    assert states(tidemill) == ["published", "held", "passed", "released"]


def test_what_is_not_held_cannot_be_released(tidemill: Tidemill, history: History) -> None:
    history.batch(rows(4))
    history.seal()
    tidemill("release", "orders", "2", "--reason", "refunds")

    for number, state, version in ((1, "passed", 0), (2, "released", None), (3, "passed", None)):
        answer = tidemill("release", "orders", str(number), "--reason", "again", "--json")
        assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "NotHeld")
        expected = {"increment": number, "state": state, "version": version}
        assert answer.json["data"] == expected
    unjudged = tidemill("release", "orders", "4", "--reason", "early", "--json").json
    assert (unjudged["code"], unjudged["data"]["state"]) == ("NotHeld", "sealed")
    release = history.snapshot.get(2).release
    assert release is not None
    assert release.reason == "refunds"


def test_an_increment_that_does_not_exist_is_wrong_usage(tidemill: Tidemill) -> None:
    answer = tidemill("release", "orders", "9", "--reason", "why not", "--json")

    assert (answer.exit_code, answer.json["data"]["increment"]) == (ExitCode.USAGE, 9)


@pytest.mark.parametrize("option", ["--reason", "--by"])
def test_a_release_without_reason_or_name_is_refused(
    tidemill: Tidemill, history: History, option: str
) -> None:
    given = {"--reason": "refunds", "--by": "Ada", option: "  "}
    arguments = [word for pair in given.items() for word in pair]

    answer = tidemill("release", "orders", "2", *arguments, "--json")

    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "ReasonMissing")
    assert answer.json["data"] == {"field": option.removeprefix("--")}
    assert history.snapshot.get(2).release is None


def test_the_reason_must_be_given(tidemill: Tidemill) -> None:
    assert tidemill("release", "orders", "2").exit_code == ExitCode.USAGE
