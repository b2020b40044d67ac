"""A pipeline that was renamed: refused under its old name, and the same under its new one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.histories.history_builder import NAME, History, reject, row, rows
from tests.support.histories.moved_history import Moved, assert_goes_on, fields_of_entries
from tests.support.kills.killed_step import killed_at
from tests.support.remedies import carry_out
from tests.support.table_reader import read_rows, tree
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome
from tidemill.publish.head import Head, TableTaken, Turn
from tidemill.spark_logs.relocated_entry import EntryForeign
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions import rename as step
from tidemill.steps.decisions.drop import drop, plan_drop
from tidemill.steps.decisions.relocate import PathsPublished, relocate
from tidemill.steps.decisions.rename import (
    NameTaken,
    NothingToRename,
    TableRead,
    plan_rename,
    rename,
)
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.storage.lease import LeaseHeld, hold
from tidemill.storage.relocations import RelocationUnfinished, unfinished_relocation
from tidemill.storage.root_identity import PipelineRenamed, verify_pipeline
from tidemill.storage.run_context import RunContext
from tidemill.storage.target_names import name_in_tables, name_in_targets

NEW = "sales"
ICEBERG = "publish: [{kind: delta}, {kind: iceberg, table: sales.orders, properties: {type: sql}}]"
READER = """\
sources: {{rows: {{kind: table, pipeline: {name}, schema: "id long, at timestamp"}}}}
event_time: {{column: at}}
output: {{partition_by: {{day: "to_date(at)"}}}}
"""


class Renamed(Moved):
    """A pipeline under the name that it was given."""

    name = NEW

    @property
    def layout(self) -> Layout:
        return Layout(self.root, self.name)

    @property
    def pipeline(self) -> Pipeline:
        return replace(self.history.pipeline, name=self.name, layout=self.layout)

    def rename(self) -> None:
        rename(self.history.pipeline, self.name, "rename")


@pytest.fixture
def past(history: History) -> History:
    """A published increment, one that is still to go out, and a batch that is in none."""
    history.increment(rows(1), [reject("a")])
    history.publish()
    history.increment([row(2), row(3)], [reject("b")])
    history.batch(rows(4))
    return history


@pytest.fixture
def renamed(past: History) -> Renamed:
    return Renamed(past, past.root)


def test_a_renamed_pipeline_goes_on_and_its_old_name_is_refused(
    past: History, renamed: Renamed
) -> None:
    published, entries = past.published(), fields_of_entries(past.sink)
    renamed.rename()

    assert not past.layout.home.exists()
    assert renamed.published() == published
    assert fields_of_entries(renamed.layout.sink("live-0001")) == entries
    assert_goes_on(renamed)
    with pytest.raises(PipelineRenamed):
        verify_pipeline(past.layout)
    verify_pipeline(renamed.layout)


@pytest.mark.remedy("PipelineRenamed")
def test_a_step_that_begins_under_the_old_name_does_not_start_over(
    past: History, renamed: Renamed
) -> None:
    renamed.rename()
    lease = hold(past.layout.lease, step="ingest", run_id="ingest")
    with pytest.raises(PipelineRenamed) as refused, lease:
        pass
    shutil.rmtree(past.layout.home)
    carry_out(renamed, refused.value.remedy, "run")


def test_targets_and_tables_go_on_with_the_first_name_through_several_renames(
    past: History, renamed: Renamed
) -> None:
    renamed.rename()
    rename(renamed.pipeline, "income", "rename")
    third = Renamed(past, past.root)
    third.name = "income"
    assert (name_in_tables(third.layout), name_in_targets(third.layout)) == (NAME, NAME)
    assert third.publish("third").outcome is Outcome.DONE
    assert third.ids() == [1, 2, 3]
    rename(third.pipeline, NAME, "rename")
    verify_pipeline(past.layout)
    with pytest.raises(PipelineRenamed):
        verify_pipeline(renamed.layout)
    assert past.publish("again").outcome is Outcome.DONE
    assert past.ids() == [1, 2, 3]


def test_a_database_table_of_the_first_name_is_its_own_and_others_are_not(
    past: History, renamed: Renamed
) -> None:
    (event,) = [one for one in past.journal.events() if one.increment == 1]
    renamed.rename()
    turn = Turn(renamed.layout, 99, "postgres", "orders", "drop it")
    assert turn.has(Head(NAME).after(event, NAME, 1), event)
    with pytest.raises(TableTaken):
        turn.has(Head(NEW).after(event, NEW, 1), event)


def test_a_plan_changes_nothing(past: History) -> None:
    before = tree(past.root)
    plan = plan_rename(past.pipeline, NEW)
    assert tree(past.root) == before
    assert (plan.old, plan.new, plan.moved) == (past.layout, Layout(past.root, NEW), False)
    assert plan.origin == past.layout.home


@pytest.mark.parametrize(
    ("killed", "there"), [("sync_folder", NEW), ("relocate", NEW), ("disk_errors", NAME)]
)
def test_half_done_it_is_refused_to_everybody_else_and_finished_by_the_next(
    past: History, renamed: Renamed, monkeypatch: pytest.MonkeyPatch, killed: str, there: str
) -> None:
    with killed_at(monkeypatch, step, killed):
        renamed.rename()
    home = past.root / there
    assert unfinished_relocation(home) is not None
    lease = hold(home / "lease", step="publish", run_id="publish")
    with pytest.raises(RelocationUnfinished) as refused, lease:
        pass
    carry_out(past, refused.value.remedy, "rename")
    assert unfinished_relocation(renamed.layout.home) is None
    assert renamed.publish("after").outcome is Outcome.DONE
    assert renamed.ids() == [1, 2, 3]
    with pytest.raises(PipelineRenamed):
        verify_pipeline(past.layout)


def test_one_that_was_begun_is_taken_back_by_a_relocation(
    past: History, renamed: Renamed, monkeypatch: pytest.MonkeyPatch
) -> None:
    with killed_at(monkeypatch, step, "disk_errors"):
        renamed.rename()
    with pytest.raises(RelocationUnfinished):
        rename(past.pipeline, "other", "rename")
    relocate(past.pipeline, "back")
    assert name_in_targets(past.layout) == NAME
    assert past.publish("after").outcome is Outcome.DONE
    verify_pipeline(past.layout)
    renamed.rename()
    assert renamed.ids() == [1, 2, 3]


def test_while_a_run_goes_on_nothing_is_renamed(
    past: History, renamed: Renamed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "PATIENCE_SECONDS", 0.0)
    build = past.layout.generations / "live-0002.lease"
    for lease in (past.layout.lease, build):
        with hold(lease, step="ingest", run_id="ingest"), pytest.raises(LeaseHeld):
            renamed.rename()
    assert past.layout.home.is_dir()
    assert unfinished_relocation(past.layout.home) is None


def test_a_name_that_is_or_was_in_use_is_refused(past: History, renamed: Renamed) -> None:
    (past.root / "there").mkdir()
    for name in (NAME, "there"):
        with pytest.raises(NameTaken):
            rename(past.pipeline, name, "rename")
    renamed.rename()
    other = Layout(past.root, "other")
    shutil.copytree(renamed.layout.home, other.home)
    with pytest.raises(NameTaken):
        plan_rename(replace(past.pipeline, layout=other), NAME)


def test_an_old_name_is_free_once_the_pipeline_is_dropped(past: History, renamed: Renamed) -> None:
    renamed.rename()
    with pytest.raises(PipelineRenamed):
        plan_drop(past.layout, table=True)
    assert [*drop(renamed.layout, table=True, run_id="drop")]
    assert [*drop(past.layout, table=True, run_id="drop")] == []
    verify_pipeline(past.layout)


def test_without_a_folder_there_is_nothing_to_rename(history: History) -> None:
    with pytest.raises(NothingToRename):
        plan_rename(history.pipeline, NEW)


def test_a_table_that_others_read_keeps_its_name(
    past: History, renamed: Renamed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMILL_PROJECTS", str(past.project.home))
    past.project.spec("reader").write_text(READER.format(name=NAME))
    with pytest.raises(TableRead) as refused:
        renamed.rename()
    assert refused.value.readers == ["reader"]


def test_a_target_that_holds_the_paths_is_refused(make_history: Callable[..., History]) -> None:
    history = make_history()
    history.increment(rows(1))
    history.write_spec(more=ICEBERG)
    with pytest.raises(PathsPublished):
        rename(history.pipeline, NEW, "rename")
    assert history.layout.home.is_dir()


def test_a_log_that_cannot_be_rewritten_is_found_before_the_folder_moves(past: History) -> None:
    entry = past.sink / "_spark_metadata" / "2"
    entry.write_text(entry.read_text().replace("part-", "foreign-"))
    with pytest.raises(EntryForeign):
        rename(past.pipeline, NEW, "rename")
    assert past.layout.home.is_dir()


def test_readers_of_the_old_path_may_be_given_a_link(past: History, renamed: Renamed) -> None:
    renamed.rename()
    old: Path = past.layout.home
    old.mkdir()
    (old / "table").symlink_to(renamed.layout.table)
    assert read_rows(old / "table") == renamed.published()
    renamed.publish("after")
    assert sorted(one["id"] for one in read_rows(old / "table")) == [1, 2, 3]


def test_the_doctor_goes_on_under_the_new_name(past: History, renamed: Renamed) -> None:
    renamed.rename()
    report = perform("doctor", doctor, RunContext(renamed.pipeline, "doctor", lambda _: None))
    assert report.outcome is Outcome.DONE
