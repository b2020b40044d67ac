"""The whole process group is killed within an attempt; nothing is lost, doubled or read half.

Between files and manifest an attempt counts for nothing; between manifest and commit it is the one
that counts, whoever carries on.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kills.kill_at_point import kill_at
from tests.support.pipelines.door_events import Actions
from tidemill.contract.report import Outcome
from tidemill.ledger.manifests import read_attempts

HOURS = range(5)


@pytest.fixture
def mill(tmp_path: Path, spark: object) -> Actions:
    mill = Actions(tmp_path)
    mill.arrive_hours(*HOURS)
    return mill


def planned(mill: Actions) -> int:
    """The last batch that was planned, -1 for none."""
    folder = mill.checkpoint / "offsets"
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    return max((int(name) for name in names if name.isdecimal()), default=-1)


def test_a_kill_between_files_and_manifest_leaves_an_attempt_that_nobody_reads(
    mill: Actions,
) -> None:
    def written_and_not_valid() -> bool:
        folder = mill.sink / f"batch={planned(mill)}"
        done = any(folder.glob("attempt-*/_SUCCESS"))
        return done and not (folder / "_manifest.json").exists()

    near = mill.checkpoint / "offsets" / "0"
    kill_at(mill.start("ingest", "killed"), near, written_and_not_valid)
    batch = planned(mill)
    (left,) = mill.attempts(batch)
    assert read_attempts(mill.sink).latest == (batch - 1 if batch else None)

    assert mill.run("after")["publish"].outcome is Outcome.DONE

    assert left in mill.attempts(batch)
    assert len(mill.attempts(batch)) == 2
    assert read_attempts(mill.sink).manifest(batch).attempt != left.name
    assert mill.counts() == mill.batch_query()
    assert sum(mill.rejected().values()) == len(HOURS)


def test_a_kill_between_manifest_and_commit_is_carried_on_without_writing(mill: Actions) -> None:
    def valid_and_not_committed() -> bool:
        batch = planned(mill)
        valid = (mill.sink / f"batch={batch}" / "_manifest.json").exists()
        return valid and not (mill.checkpoint / "commits" / str(batch)).exists()

    near = mill.checkpoint / "offsets" / "0"
    kill_at(mill.start("ingest", "killed"), near, valid_and_not_committed)
    batch = planned(mill)
    manifest = read_attempts(mill.sink).manifest(batch)

    assert mill.run("after")["publish"].outcome is Outcome.DONE

    assert [path.name for path in mill.attempts(batch)] == [manifest.attempt]
    assert read_attempts(mill.sink).manifest(batch) == manifest
    assert mill.counts() == mill.batch_query()
    assert sum(mill.rejected().values()) == len(HOURS)
