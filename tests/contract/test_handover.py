"""Reports that a step's own task takes over from the process in which the step ran."""

from __future__ import annotations

from pathlib import Path

from tests.support.airflow.fake_step import report_of
from tidemill.contract import report as reports
from tidemill.contract.handover import offer, take_over, withdraw
from tidemill.contract.report import Outcome


def test_an_offered_report_is_taken_over_once(tmp_path: Path) -> None:
    left = report_of("gate", Outcome.HELD)
    reports.write(left, tmp_path)
    offer(tmp_path, "gate")
    assert [take_over(tmp_path, "gate"), take_over(tmp_path, "gate")] == [left, None]


def test_a_report_that_was_not_offered_stays_with_its_step(tmp_path: Path) -> None:
    reports.write(report_of("gate", Outcome.DONE), tmp_path)
    offer(tmp_path, "publish")
    assert [take_over(tmp_path, "gate"), take_over(tmp_path, "publish")] == [None, None]


def test_a_report_that_was_replaced_since_is_not_taken_over(tmp_path: Path) -> None:
    reports.write(report_of("gate", Outcome.DONE), tmp_path)
    offer(tmp_path, "gate")
    reports.write(report_of("gate", Outcome.HELD), tmp_path)
    assert take_over(tmp_path, "gate") is None


def test_what_was_withdrawn_is_not_taken_over(tmp_path: Path) -> None:
    for step in ("gate", "publish"):
        reports.write(report_of(step, Outcome.DONE), tmp_path)
        offer(tmp_path, step)
    withdraw(tmp_path, ["gate"])
    assert take_over(tmp_path, "gate") is None
    assert take_over(tmp_path, "publish") is not None
