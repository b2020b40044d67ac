"""Doctor: what there is to do, what it refuses, and that it only looks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contract.errors import ExitCode, UsageError
from spark_jobs.contract.pipeline import open_pipeline
from spark_jobs.contract.report import Outcome, Report
from spark_jobs.ledger import documents
from spark_jobs.ledger.lease import Holder
from spark_jobs.ledger.process import ProcessId, this_process
from spark_jobs.steps.doctor import FeedOverdue, doctor
from spark_jobs.steps.step import Run, perform
from tests.histories import NAME, History, reject, rows, tree
from tests.ledger.spark_logs import write_commit, write_offsets
from tests.processes import child

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "pipeline")


@pytest.fixture
def published(history: History) -> History:
    """Two increments, published; nothing else."""
    history.increment(rows(1), [reject("a")])
    history.increment(rows(2))
    history.publish()
    return history


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


# -- nothing to do --------------------------------------------------------------------------------


def test_a_pipeline_that_never_ran_and_has_no_input_is_skipped(history: History) -> None:
    report = look(history)
    assert (report.outcome, report.exit_code) == (Outcome.SKIPPED, ExitCode.DONE)
    assert (report.facts["new_files"], report.facts["last_arrival"]) == (0, None)


def test_a_pipeline_that_has_published_everything_is_skipped(published: History) -> None:
    report = look(published)
    assert report.outcome is Outcome.SKIPPED
    assert "held" not in report.facts


def test_what_is_held_and_unchanged_is_skipped_since_its_verdict(history: History) -> None:
    history.batch(rows(1))
    history.seal()
    history.judge(1, "held", judged=NOON)
    report = look(history)
    assert report.outcome is Outcome.SKIPPED
    assert (report.facts["held"], report.facts["held_since"]) == (1, NOON.isoformat())


def test_what_passed_and_waits_behind_what_is_held_is_skipped_too(history: History) -> None:
    history.increment(rows(1), outcome="held")
    history.increment(rows(2), outcome="held")
    history.increment(rows(3))
    report = look(history)
    assert (report.outcome, report.facts["held"]) == (Outcome.SKIPPED, 1)


# -- work -----------------------------------------------------------------------------------------


def test_a_new_file_is_work(published: History) -> None:
    file = published.arrive("new.csv", "id,at\n3,\n")
    report = look(published)
    assert work(report) == [("ingest", None)]
    assert report.facts["new_files"] == 1
    assert report.facts["backlog_bytes"] == file.stat().st_size


def test_a_batch_that_was_planned_and_not_committed_is_work(published: History) -> None:
    published.batch(rows(3), commit=False)
    assert ("finish", None) in work(look(published))


def test_a_batch_that_was_committed_and_is_not_in_the_ledger_is_work(published: History) -> None:
    published.batch(rows(3), commit=False)
    write_commit(published.checkpoint, 2)
    assert ("seal", None) in work(look(published))


def test_a_batch_that_is_not_sealed_is_work(published: History) -> None:
    published.batch(rows(3))
    assert work(look(published)) == [("seal", None)]


def test_an_increment_without_a_verdict_is_work(published: History) -> None:
    published.batch(rows(3))
    published.seal()
    assert work(look(published)) == [("judge", 3)]


def test_so_it_is_behind_a_held_one(history: History) -> None:
    history.increment(rows(1), outcome="held")
    history.batch(rows(2))
    history.seal()
    assert work(look(history)) == [("judge", 2)]


def test_an_increment_that_passed_is_work(published: History) -> None:
    published.increment(rows(3))
    assert work(look(published)) == [("publish", 3)]


def test_an_increment_that_was_released_is_work_with_all_that_waited(history: History) -> None:
    history.increment(rows(1), outcome="held")
    history.increment(rows(2))
    history.increment(rows(3), outcome="held")
    history.release(1)
    assert work(look(history)) == [("publish", 1), ("publish", 2)]


def test_an_event_that_the_table_has_not_applied_is_work(published: History) -> None:
    (published.layout.journal / "000002.delta.json").unlink()
    assert work(look(published)) == [("apply", None)]


def test_a_cleared_run_judges_its_own_held_increment_again(history: History) -> None:
    history.increment(rows(1), outcome="held")
    assert look(history, "another").outcome is Outcome.SKIPPED
    assert work(look(history, "run-1")) == [("judge_again", 1)]


def test_a_cleared_run_whose_increment_is_published_is_skipped(published: History) -> None:
    assert look(published, "run-1").outcome is Outcome.SKIPPED


# -- a feed that stopped --------------------------------------------------------------------------


EXPECT = "expect: {every: 1 day, grace: 6h}"


@pytest.fixture
def expected(tmp_path: Path) -> History:
    """A feed of one file of noon, read and published, that should come every day."""
    history = History(tmp_path / "fed", more=EXPECT)
    history.batch(rows(1), inputs=[history.arrive("a.csv", at=NOON)])
    history.judge(history.seal().increment)
    history.publish()
    committed = history.layout.ledger("live-0001") / "000000.json"
    batch = history.ledger.batches()[0].model_copy(update={"committed": NOON + HOUR})
    committed.write_text(batch.model_dump_json())
    return history


def at(history: History, now: datetime) -> Outcome:
    return doctor(history.run("look"), now).outcome


def test_a_feed_is_overdue_after_interval_and_grace(expected: History) -> None:
    # Counted from when a run took the file in, which is later than the file's own date.
    due = NOON + HOUR + timedelta(hours=30)
    assert at(expected, due) is Outcome.SKIPPED
    with pytest.raises(FeedOverdue) as overdue:
        at(expected, due + timedelta(seconds=1))
    assert overdue.value.last_arrival == NOON + HOUR
    assert overdue.value.every == timedelta(days=1)
    assert overdue.value.exit_code == ExitCode.FAILED


def test_an_overdue_feed_is_no_matter_of_retries(expected: History) -> None:
    report = look(expected)
    assert (report.outcome, report.transient) == (Outcome.FAILED, False)
    assert report.error is not None
    assert report.error["code"] == "FeedOverdue"


def test_a_new_file_ends_it(expected: History) -> None:
    expected.arrive("b.csv")
    assert at(expected, NOON + 100 * timedelta(days=1)) is Outcome.DONE


def test_other_work_comes_first(expected: History) -> None:
    expected.batch(rows(2), inputs=[])
    assert at(expected, NOON + 100 * timedelta(days=1)) is Outcome.DONE


def test_a_batch_without_input_is_no_arrival(expected: History) -> None:
    expected.batch(rows(2), inputs=[])
    expected.judge(expected.seal().increment)
    expected.publish()
    with pytest.raises(FeedOverdue) as overdue:
        at(expected, NOON + timedelta(days=2))
    assert overdue.value.last_arrival == NOON + HOUR


def test_a_held_increment_does_not_hide_that_a_feed_stopped(expected: History) -> None:
    expected.batch([], inputs=[expected.arrive("b.csv", at=NOON)])
    expected.judge(expected.seal().increment, "held")
    with pytest.raises(FeedOverdue):
        at(expected, datetime.now(UTC) + timedelta(days=2))


def test_a_file_with_a_date_to_come_does_not_silence_it(tmp_path: Path) -> None:
    history = History(tmp_path / "fed", more=EXPECT)
    future = datetime.now(UTC) + timedelta(days=10_000)
    history.batch(rows(1), inputs=[history.arrive("a.csv", at=future)])
    history.judge(history.seal().increment)
    history.publish()
    with pytest.raises(FeedOverdue):
        at(history, datetime.now(UTC) + timedelta(days=2))


def test_a_feed_of_which_nothing_ever_came_is_overdue_from_the_first_look(tmp_path: Path) -> None:
    history = History(tmp_path / "fed", more=EXPECT)
    now = datetime.now(UTC)
    assert at(history, now + timedelta(days=100)) is Outcome.SKIPPED
    assert look(history, "first").outcome is Outcome.SKIPPED
    assert at(history, now + timedelta(hours=29)) is Outcome.SKIPPED
    with pytest.raises(FeedOverdue) as overdue:
        at(history, now + timedelta(hours=31))
    assert abs(overdue.value.last_arrival - now) < timedelta(minutes=5)
    os.utime(history.layout.run("first"), (NOON.timestamp(), NOON.timestamp()))
    assert look(history, "later").outcome is Outcome.FAILED
    with pytest.raises(FeedOverdue) as overdue:
        at(history, now)
    assert overdue.value.last_arrival == NOON


def test_without_expectation_no_feed_is_overdue(published: History) -> None:
    assert at(published, NOON + 10_000 * timedelta(days=1)) is Outcome.SKIPPED


# -- refusals -------------------------------------------------------------------------------------


def test_a_root_that_is_not_set_is_wrong_usage(history: History) -> None:
    environ = {**history.environ, "TIDEMILL_ROOT": ""}
    with pytest.raises(UsageError) as error:
        open_pipeline(NAME, environ)
    assert error.value.root == ""


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_root_that_is_no_directory_is_refused_and_not_made(history: History, kind: str) -> None:
    history.root.rmdir()
    if kind == "file":
        history.root.touch()
    code, data = refused(history)
    assert (code, data["root"]) == ("RootUnusable", str(history.root))
    assert not history.root.is_dir()


def test_a_root_that_cannot_be_written_to_is_refused(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The tests may run as root, whom no permission stops.
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    assert refused(history)[0] == "RootUnusable"


def test_a_missing_input_directory_is_refused(published: History) -> None:
    shutil.rmtree(published.inputs)
    code, data = refused(published)
    assert (code, data["path"]) == ("InputMissing", str(published.inputs))


def test_a_checkpoint_that_was_lost_is_refused(published: History) -> None:
    shutil.rmtree(published.checkpoint)
    assert refused(published)[0] == "CheckpointLost"


def test_commits_that_were_lost_are_refused(published: History) -> None:
    write_offsets(published.checkpoint, 2, 1)
    write_offsets(published.checkpoint, 3, 1)
    assert refused(published)[0] == "CommitsLost"


@pytest.mark.parametrize("rejected", [False, True])
@pytest.mark.parametrize("state", ["committed", "sealed", "passed", "held", "in the journal"])
def test_a_file_that_is_gone_before_it_was_published_is_refused(
    published: History, state: str, rejected: bool
) -> None:
    published.batch(rows(3), [reject("b")])
    if state != "committed":
        published.seal()
    if state in ("passed", "held"):
        published.judge(3, "held" if state == "held" else "passed")
    if state == "in the journal":
        published.judge(3)
        published.publish()
        (published.layout.journal / "000003.delta.json").unlink()
    (batch,) = published.ledger.batches(first=2)
    (file,) = [file for file in batch.outputs if file.rejected is rejected]
    (published.sink / file.path).unlink()
    code, data = refused(published)
    assert (code, data["missing"]) == ("FilesMissing", [file.path])


def test_a_published_file_that_was_compacted_and_removed_is_no_reason_to_refuse(
    published: History,
) -> None:
    published.delta().optimize.compact()
    published.delta().vacuum(
        retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True
    )
    for file in (*published.files(0), *published.files(1)):
        file.unlink()
    assert look(published).outcome is Outcome.SKIPPED
    published.batch(rows(3))
    assert work(look(published)) == [("seal", None)]


# -- silent losses, as the spec rates them --------------------------------------------------------


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
@pytest.mark.parametrize("rating", [None, "refuse"])
def test_a_silent_loss_is_refused_unless_told_otherwise(
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
    report = perform("doctor", doctor, Run(history.pipeline, "look", said.append))
    assert report.outcome is Outcome.SKIPPED
    assert len([line for line in said if str(file) in line]) == lines


def test_of_files_where_spark_does_not_look_a_line_is_said(published: History) -> None:
    file = published.arrive("archive/b.csv")
    said: list[str] = []
    report = perform("doctor", doctor, Run(published.pipeline, "look", said.append))
    assert (report.outcome, report.facts["overlooked_files"]) == (Outcome.SKIPPED, 1)
    assert any(str(file) in line for line in said)


# -- drivers --------------------------------------------------------------------------------------


def hold_for(history: History, process: ProcessId, launcher: ProcessId | None) -> None:
    """Make a process the holder of the lease."""
    holder = Holder(
        epoch=99,
        step="ingest",
        run_id="the other",
        process=process,
        launcher=launcher,
        since=NOON,
    )
    assert documents.put_if_absent(history.layout.lease / "000099.json", holder)


def gone() -> ProcessId:
    """Our own pid, of a process that had it and has ended."""
    return this_process().model_copy(update={"started": 0.0})


def test_a_driver_that_outlived_its_task_is_ended(published: History) -> None:
    with child("import signal; signal.pause()") as driver:
        process = this_process(driver.pid)
        hold_for(published, process, launcher=gone())
        assert look(published).outcome is Outcome.SKIPPED
        assert process.gone


@pytest.mark.parametrize("launched", [True, False])
def test_a_driver_that_did_not_outlive_its_task_is_left_alone(
    published: History, launched: bool
) -> None:
    with child("import signal; signal.pause()") as driver:
        process = this_process(driver.pid)
        hold_for(published, process, launcher=this_process() if launched else None)
        assert look(published).outcome is Outcome.SKIPPED
        assert not process.gone


def test_a_dead_holder_stops_nobody(published: History) -> None:
    hold_for(published, gone(), launcher=gone())
    published.arrive("new.csv")
    assert work(look(published)) == [("ingest", None)]


# -- it only looks --------------------------------------------------------------------------------


def never_ran(history: History) -> None:
    shutil.rmtree(history.root)
    history.root.mkdir()


def nothing_new(_: History) -> None: ...


def new_file(history: History) -> None:
    history.arrive("new.csv")


def not_written_down(history: History) -> None:
    write_commit(history.checkpoint, history.batch(rows(2), commit=False))


def held(history: History) -> None:
    history.increment(rows(3), outcome="held")


def journal_ahead(history: History) -> None:
    (history.layout.journal / "000001.delta.json").unlink()


def overdue(history: History) -> None:
    history.write_spec(more="expect: {every: 0s, grace: 0s}")


def torn(history: History) -> None:
    (history.sink / "_spark_metadata" / "0").write_bytes(b"")


@pytest.mark.parametrize(
    ("happen", "outcome"),
    [
        (never_ran, Outcome.DONE),
        (nothing_new, Outcome.SKIPPED),
        (new_file, Outcome.DONE),
        (not_written_down, Outcome.DONE),
        (held, Outcome.SKIPPED),
        (journal_ahead, Outcome.DONE),
        (overdue, Outcome.FAILED),
        (torn, Outcome.REFUSED),
    ],
)
def test_nothing_is_written_but_the_report(
    published: History, happen: Callable[[History], None], outcome: Outcome
) -> None:
    happen(published)
    files, folders = tree(published.home), directories(published.home)
    assert look(published).outcome is outcome
    run = published.layout.run("look")
    after = tree(published.home)
    assert after.pop(str((run / "doctor.json").relative_to(published.home)))
    assert after == files
    assert directories(published.home) - folders <= {run, run.parent, published.layout.home}


def directories(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_dir()}
