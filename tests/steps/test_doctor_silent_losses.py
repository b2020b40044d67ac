"""Doctor: input that Spark passes over without a word, as the spec rates it."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.doctor_report import refused
from tests.support.histories.history_builder import History, rows
from tidemill.contract.report import Outcome
from tidemill.reporting.run_summary import read_run
from tidemill.spec.spec import Gate
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.storage.run_context import RunContext

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)

LOSSES = {"changed": "InputChanged", "too_old": "InputTooOld"}


def losing(tmp_path: Path, loss: str, rating: str | None) -> tuple[History, Path]:
    """A history with one file that was lost in silence, and a spec that rates it."""
    rated = f", {loss}: {rating}" if rating else ""
    history = History(tmp_path / "losing", source=f", maxFileAge: 1 day{rated}")
    file = history.arrive("a.csv", at=NOON)
    history.batch(rows(1), inputs=[file])
    history.judge(history.seal().increment)
    history.publish()
    if loss == "changed":
        file.write_text("id,at\n1,\n2,\n")
    else:
        file = history.arrive("late.csv", at=NOON - timedelta(days=2))
    return history, file


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rating", [None, "hold"])
def test_a_silent_loss_holds_the_run_unless_told_otherwise(
    tmp_path: Path, loss: str, rating: str | None
) -> None:
    history, file = losing(tmp_path, loss, rating)
    code, data = refused(history)
    assert (code, data["files"]) == (LOSSES[loss], [str(file)])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("rating", "lines"), [("warn", 1), ("ignore", 0)])
def test_a_silent_loss_may_be_warned_of_or_ignored(
    tmp_path: Path, loss: str, rating: str, lines: int
) -> None:
    history, file = losing(tmp_path, loss, rating)
    said: list[str] = []
    report = perform("doctor", doctor, RunContext(history.pipeline, "look", said.append))
    assert report.outcome is Outcome.SKIPPED
    assert len([line for line in said if str(file) in line]) == lines


def test_of_files_where_spark_does_not_look_a_line_is_said(published: History) -> None:
    file = published.arrive("archive/b.csv")
    said: list[str] = []
    report = perform("doctor", doctor, RunContext(published.pipeline, "look", said.append))
    assert (report.outcome, report.facts["sources"]["orders"]["overlooked"]) == (Outcome.SKIPPED, 1)
    assert any(str(file) in line for line in said)


def test_a_name_that_is_no_utf8_is_said_whatever_its_rating(published: History) -> None:
    unseen = published.arrive(os.fsdecode(b"bad\xff.csv"), "id,at\n9,\n")
    escaped = str(unseen.parent / "bad\\udcff.csv")
    assert refused(published) == ("InputNameNotUtf8", {"files": [escaped]})
    published.write_spec(source=", not_utf8: warn")
    said: list[str] = []
    report = perform("doctor", doctor, RunContext(published.pipeline, "look", said.append))
    assert report.outcome is Outcome.SKIPPED
    assert len([line for line in said if escaped in line]) == 1
    assert report.facts["sources"]["orders"]["files"] == {"not_utf8": [escaped]}


def test_a_new_column_is_mentioned_once_and_is_in_the_report(published: History) -> None:
    published.arrive("new.csv", "id,at,qty\n9,,1\n")
    said: list[str] = []
    report = perform("doctor", doctor, RunContext(published.pipeline, "look", said.append))
    assert report.outcome is Outcome.DONE
    assert len([line for line in said if "qty" in line]) == 1
    problems = report.facts["sources"]["orders"]["problems"]
    assert [(one["code"], one["rating"]) for one in problems] == [("InputColumnsLeftOut", "warn")]
    assert read_run(published.layout, "look", Gate()).warnings == (problems[0]["what"],)
