"""Doctor: what there is to do, what it refuses, and that it only looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contract.report import Outcome
from spark_jobs.steps.doctor import doctor
from spark_jobs.steps.step import perform
from tests.histories import History, rows


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "pipeline")


def test_a_new_file_is_work(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    history.arrive("new.csv")

    report = perform("doctor", doctor, history.run())

    assert report.outcome is Outcome.DONE
    assert report.facts["new_files"] == 1
