"""What Airflow makes of a task: by the report of this very try."""

from __future__ import annotations

from pathlib import Path

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from tests.support.airflow.fake_step import error, report_of
from tidemill.contract import report as reports
from tidemill.contract.errors import ExitCode, LeaseHeld, Refused
from tidemill.contract.report import Outcome
from tidemill_airflow.operators.outcome import ReportWatch, as_airflow, conclude


def test_a_step_that_is_done_succeeds() -> None:
    assert conclude("gate", report_of("gate", Outcome.DONE), 0) == {
        "outcome": "done",
        "reason": "gate is done",
    }


@pytest.mark.parametrize("outcome", [Outcome.SKIPPED, Outcome.WAITING])
def test_nothing_to_do_and_waiting_are_skipped_with_the_reason(outcome: Outcome) -> None:
    report = report_of("publish", outcome, reason="increment 0004 waits behind held 0003")
    with pytest.raises(AirflowSkipException, match="increment 0004 waits behind held 0003"):
        conclude("publish", report, 3)


@pytest.mark.parametrize("outcome", [Outcome.HELD, Outcome.REFUSED, Outcome.FAILED])
def test_what_needs_a_person_is_not_retried(outcome: Outcome) -> None:
    report = report_of("gate", outcome, error=error("SomeError"))
    with pytest.raises(AirflowFailException, match="Do this"):
        conclude("gate", report, 1)


def test_a_transient_error_is_retried() -> None:
    report = report_of("ingest", Outcome.FAILED, error=error("LeaseHeld", transient=True))
    with pytest.raises(AirflowException) as raised:
        conclude("ingest", report, 1)
    assert not isinstance(raised.value, AirflowFailException)


@pytest.mark.parametrize("exit_code", [None, ExitCode.FAILED, -9, 137])
def test_a_step_that_died_without_a_report_is_retried(exit_code: int | None) -> None:
    with pytest.raises(AirflowException) as raised:
        conclude("ingest", None, exit_code)
    assert not isinstance(raised.value, AirflowFailException)


@pytest.mark.parametrize("exit_code", [ExitCode.USAGE, ExitCode.REFUSED])
def test_a_step_that_could_not_start_is_not_retried(exit_code: int) -> None:
    with pytest.raises(AirflowFailException):
        conclude("doctor", None, exit_code)


def test_the_report_of_an_earlier_try_is_not_taken_for_this_one(tmp_path: Path) -> None:
    reports.write(report_of("ingest", Outcome.DONE), tmp_path)
    watch = ReportWatch(tmp_path, "ingest")
    assert watch.report() is None
    reports.write(report_of("ingest", Outcome.HELD), tmp_path)
    written = watch.report()
    assert written is not None
    assert written.outcome is Outcome.HELD


def test_our_own_errors_are_retried_only_if_they_are_transient() -> None:
    assert not isinstance(as_airflow(LeaseHeld("busy", remedy="Wait.")), AirflowFailException)
    assert isinstance(as_airflow(Refused("no root", remedy="Make it.")), AirflowFailException)
