"""Snapshots of a checkpoint: what a restore and a rewind go on from when Spark's own is gone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.histories.history_builder import History, rows, tree
from tests.support.remedies import carry_out
from tidemill.contract.errors import Refused
from tidemill.contract.os_user import os_user
from tidemill.generations.checkpoint_snapshot import read_snapshots
from tidemill.generations.verify import open_generation
from tidemill.increments.increments import State
from tidemill.journal.takeovers import current, read_takeovers
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.spark_logs.checkpoint_fork import ForkPointGone
from tidemill.steps.decisions.restore import SnapshotMissing, SnapshotPassed, restore
from tidemill.steps.decisions.rewind import rewind
from tidemill.steps.decisions.snapshot import NothingToKeep, keep_snapshot, plan_snapshot
from tidemill.steps.doctor import doctor

WHO = {"by": "ada", "reason": "the disk lost the state"}


@pytest.fixture
def past(tmp_path: Path) -> History:
    """Two published increments."""
    history = History(tmp_path / "pipeline")
    history.pipeline.transform_file.parent.mkdir(parents=True, exist_ok=True)
    history.pipeline.transform_file.write_text("def transform(orders): ...\n")
    for number in (1, 2):
        history.increment(rows(number))
        history.publish()
    return history


def test_a_lost_checkpoint_goes_on_from_its_snapshot(past: History) -> None:
    taken = keep_snapshot(past.run("keep"), "ada")
    past.increment(rows(3), outcome="held")
    shutil.rmtree(past.checkpoint)
    books = tree(past.ledger.folder) | tree(past.layout.journal)
    with pytest.raises(Refused):
        open_generation(past.pipeline)

    takeover = restore(past.run("restore"), taken.number, **WHO)

    assert (takeover.generation, takeover.first) == ("live-0002", 2)
    assert takeover.os_user == os_user()
    found = open_generation(past.pipeline)
    assert (found.planned, found.committed, found.ledger.latest()) == (1, 1, 1)
    assert doctor(past.run("next")).facts["new"] == {"orders": 1}
    assert past.snapshot.get(3).state is State.SUPERSEDED
    assert past.ids() == [1, 2]
    assert tree(past.ledger.folder) | tree(past.layout.journal) == books


def test_over_what_was_published_since_only_a_rewind_leads(past: History) -> None:
    keep_snapshot(past.run("keep"), "ada")
    past.batch(rows(3))
    past.judge(past.seal().increment)
    past.publish()
    with pytest.raises(SnapshotPassed) as refused:
        restore(past.run("restore"), 1, **WHO)
    assert refused.value.number == 1
    assert current(past.layout) == "live-0001"
    assert f"--to {read_snapshots(past.layout)[0].run_id}" in refused.value.remedy


def test_a_rewind_uses_the_snapshot_where_spark_has_forgotten_the_batch(past: History) -> None:
    past.increment(rows(3))
    past.publish()
    request = RunRequest(role="rewind", back_to="run-2", **WHO)
    fix_request(past.layout.run("back"), request)
    keep_snapshot(past.run("keep"), "ada")
    for log in ("offsets", "commits"):
        (past.checkpoint / log / "1").unlink()
    shutil.move(past.layout.snapshots, past.home / "snapshots")
    with pytest.raises(ForkPointGone):
        rewind(past.run("back"), request)
    shutil.move(past.home / "snapshots", past.layout.snapshots)
    rewind(past.run("back"), request)
    assert open_generation(past.pipeline, "live-0002").committed == 1


def test_a_snapshot_stays_when_spark_removes_its_files(past: History) -> None:
    plan = plan_snapshot(past.pipeline)
    assert (plan.generation, plan.batch) == ("live-0001", 1)
    assert not past.layout.snapshots.exists()
    # A killed process left half of one.
    (past.layout.snapshot(1) / "checkpoint").mkdir(parents=True)
    taken = keep_snapshot(past.run("keep"), "ada")
    assert (taken.number, taken.batch, taken.files) == (1, 1, plan.files)
    kept = tree(past.layout.snapshot(1))
    shutil.rmtree(past.checkpoint)
    assert tree(past.layout.snapshot(1)) == kept
    assert read_takeovers(past.layout.home) == []


@pytest.mark.remedy("SnapshotMissing")
def test_a_snapshot_that_was_never_taken_is_refused(past: History) -> None:
    with pytest.raises(SnapshotMissing) as refused:
        restore(past.run("restore"), 7, **WHO)
    assert refused.value.number == 7
    carry_out(past, refused.value.remedy, "checkpoint show")


def test_without_a_batch_there_is_nothing_to_keep(tmp_path: Path) -> None:
    history = History(tmp_path / "pipeline")
    with pytest.raises(NothingToKeep) as refused:
        plan_snapshot(history.pipeline)
    assert refused.value.pipeline == "orders"
