"""Doctor: what there is to do, what it refuses, and that it only looks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.doctor_report import look, refused, work
from tests.support.histories.history_builder import NAME, History, reject, rows, tree
from tests.support.histories.spark_log_builder import write_commit, write_named_offsets
from tidemill.contract.errors import ExitCode, UsageError
from tidemill.contract.report import Outcome
from tidemill.spec.pipeline import open_pipeline
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.storage.root_identity import unregister
from tidemill.storage.run_context import RunContext

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def test_a_pipeline_that_never_ran_and_has_no_input_is_skipped(history: History) -> None:
    report = look(history)
    assert (report.outcome, report.exit_code) == (Outcome.SKIPPED, ExitCode.DONE)
    assert (report.facts["new"], report.facts["sources"]["orders"]["last_arrival"]) == (
        {"orders": 0},
        None,
    )


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


def test_a_new_file_is_work(published: History) -> None:
    file = published.arrive("new.csv", "id,at\n3,\n")
    report = look(published)
    assert work(report) == [("ingest", None)]
    assert report.facts["new"] == {"orders": 1}
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
    write_named_offsets(published.checkpoint, 2, orders=1)
    write_named_offsets(published.checkpoint, 3, orders=1)
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


def never_ran(history: History) -> None:
    shutil.rmtree(history.layout.home)
    unregister(history.layout)


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
def test_nothing_is_written_but_the_report_and_the_status_document(
    published: History, happen: Callable[[History], None], outcome: Outcome
) -> None:
    # The first look gives the root its identity.
    look(published, "first")
    happen(published)
    files, folders = tree(published.home), directories(published.home)
    assert look(published).outcome is outcome
    run = published.layout.run("look")
    after = tree(published.home)
    assert after.pop(str((run / "doctor.json").relative_to(published.home)))
    status = str(published.layout.status.relative_to(published.home))
    assert after.pop(status)
    files.pop(status, None)
    assert after == files
    assert directories(published.home) - folders <= {run, run.parent, published.layout.home}


def directories(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_dir()}


def test_a_root_whose_disk_is_not_mounted_is_no_new_root(published: History) -> None:
    look(published)
    published.root.rename(published.home / "disk")
    published.root.mkdir()
    assert refused(published)[0] == "RootNotInitialised"


def test_a_pipeline_whose_folder_is_gone_is_no_new_pipeline(published: History) -> None:
    look(published)
    shutil.rmtree(published.layout.home)
    code, data = refused(published)
    assert (code, data["folder"]) == ("PipelineFolderLost", str(published.layout.home))


def test_an_event_of_the_journal_that_is_gone_is_said(published: History) -> None:
    (published.layout.journal / "000001.json").unlink()
    said: list[str] = []
    perform("doctor", doctor, RunContext(published.pipeline, "look", said.append))
    assert [line for line in said if "event 1 of " in line]


def test_of_a_whole_journal_nothing_is_said_to_be_missing(published: History) -> None:
    assert published.journal.missing() == []


def test_the_first_run_names_what_a_python_function_may_take_from_chance(
    tmp_path: Path,
) -> None:
    history = History(tmp_path / "first")
    history.arrive("a.csv")
    transform = history.pipeline.transform_file
    transform.parent.mkdir(parents=True)
    transform.write_text(
        "import random\ndef transform(rows):\n    return rows.withColumn('x', random.choice)\n"
    )
    lines: list[str] = []
    doctor(RunContext(history.pipeline, "first", lines.append))
    (said,) = [line for line in lines if "random.choice" in line]
    assert f"{transform}:3" in said
