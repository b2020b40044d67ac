"""What the doctor makes of a history."""

from __future__ import annotations

from typing import Any

from tests.support.histories.history_builder import History
from tidemill.contract.errors import ExitCode
from tidemill.contract.report import Outcome, Report
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform


def look(history: History, run_id: str = "look") -> Report:
    return perform("doctor", doctor, history.run(run_id))


def work(report: Report) -> list[tuple[str, int | None]]:
    """What there is to do: kind and increment."""
    assert report.outcome is Outcome.DONE
    return [(one["kind"], one["increment"]) for one in report.facts["work"]]


def refused(history: History) -> tuple[str, dict[str, Any]]:
    report = look(history)
    assert (report.outcome, report.exit_code) == (Outcome.REFUSED, ExitCode.REFUSED)
    assert report.error is not None
    assert report.error["remedy"]
    return report.error["code"], report.error["data"]
