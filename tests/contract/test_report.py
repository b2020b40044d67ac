"""The run report: what a step leaves behind is what others read."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tidemill.contract import report as reports
from tidemill.contract.errors import (
    ExitCode,
    Held,
    LeaseHeld,
    Refused,
    SpecError,
    TidemillError,
    UsageError,
)
from tidemill.contract.report import Outcome, Report

AT = datetime(2024, 2, 29, 12, 34, 56, 789, tzinfo=UTC)


def report(outcome: Outcome = Outcome.DONE, **changes: object) -> Report:
    return Report.model_validate(
        {
            "pipeline": "orders",
            "run_id": "scheduled__2024-02-29T00:00:00+00:00",
            "step": "gate",
            "outcome": outcome,
            "reason": "é fine",
            "started": AT,
            "finished": AT,
            "facts": {"rows": 3, "nested": {"list": [1, None, "x"]}},
            **changes,
        }
    )


def of(error: TidemillError) -> Report:
    return reports.of_error(
        error, pipeline="orders", run_id="r", step="ingest", started=AT, finished=AT
    )


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    written = report()
    assert reports.write(written, tmp_path / "runs" / "r") == tmp_path / "runs" / "r" / "gate.json"
    assert reports.read(tmp_path / "runs" / "r", "gate") == written


def test_a_step_that_has_not_reported_has_no_report(tmp_path: Path) -> None:
    reports.write(report(), tmp_path)
    assert reports.read(tmp_path, "publish") is None
    assert reports.read(tmp_path / "none", "gate") is None


def test_a_later_try_replaces_the_report_and_leaves_nothing_else(tmp_path: Path) -> None:
    reports.write(report(Outcome.HELD), tmp_path)
    reports.write(report(Outcome.DONE), tmp_path)
    found = reports.read(tmp_path, "gate")
    assert found is not None
    assert found.outcome is Outcome.DONE
    assert [path.name for path in tmp_path.iterdir()] == ["gate.json"]


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (Outcome.DONE, ExitCode.DONE),
        (Outcome.SKIPPED, ExitCode.DONE),
        (Outcome.NEEDS_SPARK, ExitCode.DONE),
        (Outcome.HELD, ExitCode.HELD),
        (Outcome.WAITING, ExitCode.HELD),
        (Outcome.REFUSED, ExitCode.REFUSED),
        (Outcome.FAILED, ExitCode.FAILED),
    ],
)
def test_each_outcome_has_an_exit_code(outcome: Outcome, code: ExitCode) -> None:
    assert report(outcome).exit_code == code


def test_no_outcome_was_forgotten() -> None:
    assert len(Outcome) == 7


@pytest.mark.parametrize(
    ("error", "outcome", "transient"),
    [
        (Refused("no", remedy="do"), Outcome.REFUSED, False),
        (Held("no", remedy="do"), Outcome.HELD, False),
        (LeaseHeld("no", remedy="do"), Outcome.FAILED, True),
        (SpecError("no", remedy="do"), Outcome.FAILED, False),
        (TidemillError("no", remedy="do"), Outcome.FAILED, False),
    ],
)
def test_an_error_becomes_a_report(error: TidemillError, outcome: Outcome, transient: bool) -> None:
    made = of(error)
    assert (made.outcome, made.transient, made.reason) == (outcome, transient, "no")
    assert made.error is not None
    assert (made.error["code"], made.error["remedy"]) == (type(error).__name__, "do")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SpecError("no", remedy="do"), ExitCode.USAGE),
        (Refused("no", remedy="do"), ExitCode.REFUSED),
        (Held("no", remedy="do"), ExitCode.HELD),
        (LeaseHeld("no", remedy="do"), ExitCode.FAILED),
    ],
)
def test_a_step_exits_as_its_error_says(error: TidemillError, code: ExitCode) -> None:
    assert of(error).exit_code == error.exit_code == code


def test_the_data_of_an_error_survives_the_file(tmp_path: Path) -> None:
    error = UsageError(
        "no",
        remedy="do",
        path=Path("/a b"),
        files={"x"},
        at=AT,
        nested={"n": [Path("/y"), None]},
        share=0.5,
    )
    assert error.path == Path("/a b")
    reports.write(of(error), tmp_path)
    found = reports.read(tmp_path, "ingest")
    assert found is not None
    assert found.error is not None
    assert found.error["data"] == {
        "path": "/a b",
        "files": ["x"],
        "at": str(AT),
        "nested": {"n": ["/y", None]},
        "share": 0.5,
    }


def test_a_field_that_an_error_does_not_carry_is_no_attribute() -> None:
    with pytest.raises(AttributeError):
        _ = UsageError("no", remedy="do").path


@pytest.mark.parametrize("damage", [b"", b"{", b"\0" * 64, b'{"pipeline": "orders"}', b"\xff"])
def test_a_report_that_a_power_cut_tore_says_nothing(tmp_path: Path, damage: bytes) -> None:
    reports.write(report(), tmp_path).write_bytes(damage)
    assert reports.read(tmp_path, "gate") is None
    assert reports.backlog_bytes([tmp_path]) is None


def test_a_report_with_unknown_fields_says_nothing(tmp_path: Path) -> None:
    path = reports.write(report(), tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "extra": 1}))
    assert reports.read(tmp_path, "gate") is None


NOT_UTF8 = Path(os.fsdecode(b"/in/bad\xff.csv"))


def test_an_error_about_a_file_whose_name_is_no_utf8_is_reported(tmp_path: Path) -> None:
    error = TidemillError(
        f"{NOT_UTF8} is odd.", remedy=f"mv {NOT_UTF8}", path=NOT_UTF8, files={str(NOT_UTF8): 1}
    )
    written = of(error)
    reports.write(written, tmp_path)
    assert reports.read(tmp_path, "ingest") == written
    assert written.reason == "/in/bad\\udcff.csv is odd."
    assert written.error is not None
    assert written.error["data"]["path"] == "/in/bad\\udcff.csv"


def test_facts_about_a_file_whose_name_is_no_utf8_are_reported(tmp_path: Path) -> None:
    name = str(NOT_UTF8)
    written = report(reason=name, facts={name: [name, {"nested": (name,)}]})
    reports.write(written, tmp_path)
    found = reports.read(tmp_path, "gate")
    assert found is not None
    assert found.facts == {"/in/bad\\udcff.csv": [r"/in/bad\udcff.csv", {"nested": [found.reason]}]}
