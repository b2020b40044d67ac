"""Snapshots of a checkpoint in a bucket, where no file has a second name: each is a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers.s3 import S3
from tests.support.histories.history_builder import History, rows
from tests.support.kills.killed_step import killed_at
from tests.support.s3_root import new_root
from tidemill.contract.errors import Refused
from tidemill.file_formats.arrow_files import file_system
from tidemill.generations import checkpoint_snapshot
from tidemill.generations.checkpoint_snapshot import read_snapshots, snapshot_files
from tidemill.generations.verify import open_generation
from tidemill.steps.decisions.restore import restore
from tidemill.steps.decisions.snapshot import keep_snapshot
from tidemill.steps.doctor import doctor
from tidemill.storage.folders import remove_folder
from tidemill.storage.root_identity import initialise

GENERATION = "live-0001"


@pytest.fixture
def past(tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch) -> History:
    """Two published increments."""
    history = History(tmp_path, bucket=new_root(s3, monkeypatch))
    history.pipeline.transform_file.parent.mkdir(parents=True, exist_ok=True)
    history.pipeline.transform_file.write_text("def transform(orders): ...\n")
    initialise(history.root, environ={})
    for number in (1, 2):
        history.increment(rows(number))
        history.publish()
    return history


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("killed", ["sync", "CheckpointSnapshot"])
def test_what_a_killed_snapshot_left_is_not_in_the_next_one(
    past: History, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    with killed_at(monkeypatch, checkpoint_snapshot, killed):
        keep_snapshot(past.run("keep"), "ada")
    folder = past.layout.snapshot(1)
    assert names(folder) == sorted(path.name for path in snapshot_files(past.layout, GENERATION))
    assert read_snapshots(past.layout) == []
    # Hadoop marks a folder, and Spark removes a file that it does not need any more.
    file_system(folder.parent).create_dir(f"{folder.name}/checkpoint/state")
    (past.checkpoint / "offsets" / "0").unlink()

    taken = keep_snapshot(past.run("again"), "ada")

    files = snapshot_files(past.layout, GENERATION)
    assert (taken.number, taken.batch, taken.files) == (1, 1, len(files))
    assert names(folder) == sorted(path.name for path in files)
    assert not (folder / "checkpoint" / "state").is_dir()


def test_a_lost_checkpoint_goes_on_from_its_snapshot(past: History) -> None:
    keep_snapshot(past.run("keep"), "ada")
    past.increment(rows(3), outcome="held")
    remove_folder(past.checkpoint)
    with pytest.raises(Refused):
        open_generation(past.pipeline)
    takeover = restore(past.run("restore"), 1, by="ada", reason="the state was lost")
    assert (takeover.generation, takeover.first) == ("live-0002", 2)
    found = open_generation(past.pipeline)
    assert (found.planned, found.committed, found.ledger.latest()) == (1, 1, 1)
    assert doctor(past.run("next")).facts["new"] == {"orders": 1}
