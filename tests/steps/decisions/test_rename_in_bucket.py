"""A rename in a bucket, where all of a pipeline is copied under its new name."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.servers.s3 import S3
from tests.steps.decisions.test_rename import NEW, Renamed
from tests.support.histories.history_builder import NAME, History, reject, row, rows
from tests.support.histories.moved_history import assert_goes_on, fields_of_entries
from tests.support.kills.killed_step import killed_at
from tests.support.remedies import carry_out
from tests.support.s3_root import history_in_bucket
from tidemill.contract.report import Outcome
from tidemill.steps.decisions import placed_objects, relocate
from tidemill.steps.decisions import rename as step
from tidemill.steps.decisions.rename import NothingToRename, plan_rename
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.storage.lease import hold, newest_epoch
from tidemill.storage.relocations import RelocationUnfinished, unfinished_relocation
from tidemill.storage.root_identity import PipelineRenamed, verify_pipeline
from tidemill.storage.run_context import RunContext
from tidemill.storage.target_names import name_in_tables, name_in_targets


@pytest.fixture
def past(tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch) -> History:
    """A published increment, one that is still to go out, and a batch that is in none."""
    history = history_in_bucket(tmp_path, s3, monkeypatch)
    history.increment(rows(1), [reject("a")])
    history.publish()
    history.increment([row(2), row(3)], [reject("b")])
    history.batch(rows(4))
    return history


@pytest.fixture
def renamed(past: History) -> Renamed:
    return Renamed(past, past.root)


def assert_whole(past: History, renamed: Renamed) -> None:
    assert not past.layout.home.is_dir()
    assert unfinished_relocation(renamed.layout.home) is None
    assert (name_in_tables(renamed.layout), name_in_targets(renamed.layout)) == (NAME, NAME)
    report = perform("doctor", doctor, RunContext(renamed.pipeline, "doctor", lambda _: None))
    assert report.outcome is Outcome.DONE, report.error
    assert_goes_on(renamed)
    with pytest.raises(PipelineRenamed):
        verify_pipeline(past.layout)
    with pytest.raises(NothingToRename):
        plan_rename(past.pipeline, NEW)


def test_a_renamed_pipeline_goes_on_and_its_old_name_is_refused(
    past: History, renamed: Renamed
) -> None:
    published, entries = past.published(), fields_of_entries(past.sink)
    epoch = newest_epoch(past.layout.lease)
    renamed.rename()
    assert renamed.published() == published
    assert fields_of_entries(renamed.layout.sink("live-0001")) == entries
    assert newest_epoch(renamed.layout.lease) > epoch
    assert_whole(past, renamed)
    # And back again.
    step.rename(renamed.pipeline, NAME, "back")
    assert past.ids() == [1, 2, 3]
    assert not renamed.layout.home.is_dir()


@pytest.mark.remedy("RelocationUnfinished")
@pytest.mark.parametrize(
    ("module", "killed"),
    [(placed_objects, "put_whole"), (placed_objects, "copy_file"), (step, "register_rename")],
)
def test_half_copied_it_is_refused_under_both_names_and_finished_by_the_next(
    past: History,
    renamed: Renamed,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    killed: str,
) -> None:
    with killed_at(monkeypatch, module, killed):
        renamed.rename()
    for layout in (past.layout, renamed.layout):
        assert unfinished_relocation(layout.home) is not None
        with (
            pytest.raises(RelocationUnfinished) as refused,
            hold(layout.lease, step="publish", run_id="publish"),
        ):
            raise AssertionError
    # Neither half can be taken for the whole.
    for pipeline in (past.pipeline, renamed.pipeline):
        with pytest.raises(RelocationUnfinished):
            relocate.relocate(pipeline, "relocate")
    assert past.ids() == [1]
    carry_out(past, refused.value.remedy, "rename")
    assert_whole(past, renamed)


@pytest.mark.parametrize("killed", ["_remove", "remove_folder", "relocate"])
def test_what_has_the_old_name_is_removed_by_the_next(
    past: History, renamed: Renamed, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    with killed_at(monkeypatch, step, killed):
        renamed.rename()
    with (
        pytest.raises(RelocationUnfinished) as refused,
        hold(renamed.layout.lease, step="publish", run_id="publish"),
    ):
        raise AssertionError
    carry_out(past, refused.value.remedy, "rename")
    assert_whole(past, renamed)


def test_a_copy_that_is_begun_again_leaves_what_the_original_has_no_more(
    past: History, renamed: Renamed, monkeypatch: pytest.MonkeyPatch
) -> None:
    leftover = past.layout.home / "failures" / "publish.json"
    leftover.write_text("{}")
    with killed_at(monkeypatch, step, "register_rename"):
        renamed.rename()
    leftover.unlink()
    renamed.rename()
    assert not (renamed.layout.home / "failures" / "publish.json").exists()
    assert_whole(past, renamed)
