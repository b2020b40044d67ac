"""Pipelines without a suite: their increments pass by row rules and counts alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories.history_builder import History, row, rows
from tests.support.sample_rows import reject
from tidemill.contract.report import Outcome
from tidemill.file_formats.delta import read_rows
from tidemill.steps.gate import gate
from tidemill.steps.parts.run import perform
from tidemill.steps.read_only.requalify import NoSuite, requalify

NO_SUITE = "gate: {suite: none, in_process_max: 1 B}"


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path, more=NO_SUITE)


def judged(history: History, run_id: str) -> Outcome:
    return perform("gate", gate, history.run(run_id)).outcome


def test_an_increment_passes_whatever_its_size_and_is_published(history: History) -> None:
    history.batch(rows(1, 2, 3))
    assert judged(history, "first") is Outcome.DONE
    assert history.publish("first").outcome is Outcome.DONE
    assert read_rows(history.layout.table, 10).total == 3


def test_too_many_rejected_rows_still_hold_an_increment(history: History) -> None:
    history.batch([row(1)], [reject("x", day="2024-01-01")])
    assert judged(history, "first") is Outcome.HELD


def test_what_expects_nothing_cannot_be_judged_again(history: History) -> None:
    history.batch(rows(1, 2, 3))
    judged(history, "first")
    history.publish("first")
    with pytest.raises(NoSuite):
        requalify(history.run("again"))
