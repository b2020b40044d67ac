"""`tidemill plan`: what has changed since the generation was born; here without any JVM."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.fingerprinted_generation import CODE, born
from tests.support.histories.history_builder import NAME, History, rows, tree
from tests.support.remedies import carry_out
from tidemill.contract.errors import ExitCode
from tidemill.contract.report import Outcome
from tidemill.engine import session
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a JVM was asked for")

    monkeypatch.setattr(session, "open_session", refuse)


@pytest.fixture
def ran(history: History) -> History:
    history.batch(rows(1))
    return history


def fields(document: dict[str, Any]) -> dict[str, str]:
    return {change["field"]: change["verdict"] for change in document["changes"]}


def test_a_pipeline_that_never_started_has_nothing_to_compare_with(
    tidemill: Tidemill, history: History
) -> None:
    answer = tidemill("plan", NAME, "--json")
    assert (answer.exit_code, answer.json["compared"]) == (ExitCode.DONE, "nothing")


def test_nothing_has_changed(tidemill: Tidemill, ran: History) -> None:
    born(ran)
    ran.write_spec(more="description: new\ndeterministic: false")
    ran.project.transform(NAME).write_text(f"# New.\n{CODE}")
    answer = tidemill("plan", NAME, "--json")
    assert answer.exit_code == ExitCode.DONE
    found = answer.json
    assert "backfill" in found.pop("given_up")
    assert found == {
        "pipeline": NAME,
        "generation": "live-0001",
        "compared": "fingerprint",
        "verdict": "allowed",
        "changes": [],
        "due": [],
    }
    assert len(tidemill("plan", NAME).stdout.splitlines()) == 2


def test_what_is_allowed_may_go_on(tidemill: Tidemill, ran: History) -> None:
    born(ran)
    ran.write_spec(source=", maxFilesPerTrigger: 5", more="row_rules: {id: id > 0}")
    answer = tidemill("plan", NAME, "--json")
    assert answer.exit_code == ExitCode.DONE
    assert answer.json["verdict"] == "allowed with consequences"
    assert fields(answer.json) == {
        "sources.orders.maxFilesPerTrigger": "allowed",
        "row_rules.id": "allowed with consequences",
    }
    (rule,) = [one for one in answer.json["changes"] if one["field"] == "row_rules.id"]
    for command in ("redo", "backfill", "replay", "rebuild"):
        assert f"tidemill {command} {NAME}" in rule["remedy"]
    # For a pull request: the same each time, and of no machine.
    assert tidemill("plan", NAME, "--json").stdout == answer.stdout
    assert str(ran.home) not in answer.stdout
    assert "row_rules.id" in tidemill("plan", NAME).stdout


@pytest.mark.remedy("QueryChanged")
def test_what_is_not_allowed_is_refused_by_command_and_doctor(
    tidemill: Tidemill, ran: History
) -> None:
    born(ran)
    ran.write_spec(more="timezone: Asia/Tokyo", inputs=str(ran.home / "elsewhere"))
    before = tree(ran.root)
    answer = tidemill("plan", NAME, "--json")
    assert answer.exit_code == ExitCode.REFUSED
    assert fields(answer.json) == {
        "timezone": "not allowed",
        "sources.orders.path": "not allowed",
    }
    assert all("tidemill rebuild orders" in one["remedy"] for one in answer.json["changes"])
    assert tree(ran.root) == before, "a look changed something"

    # What binds a generation in any case is said first, as ever.
    report = perform("doctor", doctor, ran.run("first"))
    assert report.error is not None
    assert (report.outcome, report.error["code"]) == (Outcome.REFUSED, "IntervalsChanged")
    ran.write_spec(inputs=str(ran.home / "elsewhere"))
    report = perform("doctor", doctor, ran.run("second"))
    assert report.error is not None
    assert (report.outcome, report.error["code"]) == (Outcome.REFUSED, "QueryChanged")
    assert [one["field"] for one in report.error["data"]["changes"]] == ["sources.orders.path"]
    carry_out(ran, report.error["remedy"], "rebuild")


def test_of_a_generation_without_a_fingerprint_what_binds_it_is_known(
    tidemill: Tidemill, ran: History
) -> None:
    ran.project.transform(NAME).parent.mkdir(parents=True)
    ran.project.transform(NAME).write_text(CODE)
    ran.write_spec(
        partition_by=json.dumps({"day": "to_date(at)"}), source=", maxFilesPerTrigger: 5"
    )
    answer = tidemill("plan", NAME, "--json")
    assert answer.exit_code == ExitCode.REFUSED
    assert answer.json["compared"] == "note"
    assert fields(answer.json) == {"output.partition_by": "not allowed"}


def test_a_root_that_was_moved_is_the_sinks_place(
    tidemill: Tidemill, ran: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    born(ran)
    moved: Path = ran.root.rename(ran.home / "moved")
    monkeypatch.setenv("TIDEMILL_ROOT", str(moved))
    answer = tidemill("plan", NAME, "--json")
    assert answer.exit_code == ExitCode.REFUSED
    assert fields(answer.json) == {"TIDEMILL_ROOT": "not allowed"}
