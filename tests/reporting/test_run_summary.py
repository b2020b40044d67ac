"""A run's summary says what was asked for, what its steps did, and what came of its rows."""

from __future__ import annotations

from pathlib import Path

from tests.support.airflow.fake_step import report_of
from tests.support.histories.history_builder import History, reject, rows
from tidemill.contract import report as reports
from tidemill.contract.report import Outcome, SparkApplication, Step
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.reporting.run_summary import read_run
from tidemill.spec.spec import Gate


def test_a_run_that_published_names_its_increment_and_version(tmp_path: Path) -> None:
    history = History(tmp_path, rows_per_row="at_most_one")
    history.batch(rows(1, 2), [reject("1;x")])
    history.judge(history.seal("a").increment)
    history.publish("a")

    found = read_run(history.layout, "a", Gate())

    assert [(one.step, one.outcome.value) for one in found.steps] == [("publish", "done")]
    assert found.steps[0].seconds >= 0
    assert [(one.increment, one.version, one.rows) for one in found.published] == [(1, 0, 2)]
    assert found.increment is not None
    books = found.increment.books
    assert (books.good, books.rejected, books.late) == (2, 1, 0)


def test_what_a_person_asked_for_is_told_before_any_step_reports(tmp_path: Path) -> None:
    history = History(tmp_path)
    wanted = RunRequest(role="redo", by="ann", reason="mended")
    fix_request(history.layout.run("b"), wanted)

    found = read_run(history.layout, "b", Gate())

    assert (found.request.role, found.request.by, found.known) == ("redo", "ann", False)


def test_the_spark_applications_of_its_steps_are_told_apart(tmp_path: Path) -> None:
    history = History(tmp_path)
    first, second = (SparkApplication(id=f"local-{n}", logs_events=True) for n in (1, 2))
    used: dict[Step, SparkApplication | None] = {"doctor": None, "ingest": first, "gate": second}
    for step, application in {**used, "publish": second}.items():
        report = report_of(step, Outcome.DONE, spark=application)
        reports.write(report, history.layout.run("c"))

    assert read_run(history.layout, "c", Gate()).applications == (first, second)
