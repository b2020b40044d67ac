"""However a step ends, a report says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contract import report as reports
from spark_jobs.contract.report import Outcome
from spark_jobs.steps.step import Ended, Run, perform
from tests.histories import History


def test_an_error_that_nobody_foresaw_leaves_a_report_and_is_raised(tmp_path: Path) -> None:
    run = History(tmp_path).run("r1")

    def step(_: Run) -> Ended:
        raise ZeroDivisionError("by zero")

    with pytest.raises(ZeroDivisionError):
        perform("gate", step, run)

    left = reports.read(run.pipeline.layout.run("r1"), "gate")
    assert left is not None
    assert (left.outcome, left.transient) == (Outcome.FAILED, True)
    assert left.error is not None
    assert left.error["data"]["type"] == "ZeroDivisionError"


def test_the_report_of_an_earlier_try_does_not_outlive_a_killed_one(tmp_path: Path) -> None:
    run = History(tmp_path).run("r1")
    perform("gate", lambda _: Ended(Outcome.DONE, "passed"), run)

    def killed(_: Run) -> Ended:
        raise SystemExit(1)

    with pytest.raises(SystemExit):
        perform("gate", killed, run)

    assert reports.read(run.pipeline.layout.run("r1"), "gate") is None


def test_a_missing_root_is_not_made_for_the_report(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.root.rmdir()

    report = perform("doctor", lambda _: Ended(Outcome.DONE, "fine"), history.run("r1"))

    assert report.outcome is Outcome.DONE
    assert not history.root.exists()
