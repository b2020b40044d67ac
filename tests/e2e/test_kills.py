"""The whole process group is killed where Spark's protocol is weakest; nothing is lost or doubled.

The points are those of the failure-modes notes: K5 is after the data files and before the sink's
log, K7 after the sink's log and before the checkpoint's commit.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contract.report import Outcome
from tests.e2e.kill import kill_at
from tests.e2e.mill import Mill

pytestmark = pytest.mark.jvm

DAYS = range(1, 8)
FILES_A_BATCH = 2


def batches(folder: Path) -> set[int]:
    return {int(entry.name) for entry in folder.glob("*") if entry.name.isdecimal()}


def whole_files(sink: Path) -> set[Path]:
    """Parquet files that are written to their last byte."""
    files = set()
    for path in sink.glob("*/part-*.parquet"):
        with path.open("rb") as file:
            if path.stat().st_size > 12 and file.seek(-4, 2) and file.read() == b"PAR1":
                files.add(path)
    return files


def test_a_kill_between_data_files_and_sink_log_leaves_orphans_and_no_trace(
    mill: Mill, spark: object
) -> None:
    mill.deliver_days(DAYS)
    log = mill.sink / "_spark_metadata"

    def data_done_and_not_logged() -> bool:
        logged = len(batches(log)) if log.is_dir() else 0
        planned = mill.checkpoint / "offsets" / str(logged)
        return planned.exists() and len(whole_files(mill.sink)) == FILES_A_BATCH * (logged + 1)

    near = mill.checkpoint / "offsets" / "0"
    kill_at(mill.start("ingest", "killed"), near, data_done_and_not_logged)
    logged = batches(log) if log.is_dir() else set()
    batch = len(logged)
    assert batch in batches(mill.checkpoint / "offsets")
    assert batch not in logged
    assert batch not in batches(mill.checkpoint / "commits")
    orphans = whole_files(mill.sink)

    reports = mill.run("after")

    assert reports["publish"].outcome is Outcome.DONE
    assert len(orphans & whole_files(mill.sink)) == len(orphans)
    assert len(whole_files(mill.sink)) == FILES_A_BATCH * (len(DAYS) + 1)
    mill.assert_whole()


def test_a_kill_between_sink_log_and_commit_commits_the_batch_once(
    mill: Mill, spark: object
) -> None:
    mill.deliver_days(DAYS)
    log, commits = mill.sink / "_spark_metadata", mill.checkpoint / "commits"

    def logged_and_not_committed() -> bool:
        return log.is_dir() and len(batches(log)) > len(batches(commits))

    near = mill.checkpoint / "offsets" / "0"
    kill_at(mill.start("ingest", "killed"), near, logged_and_not_committed)
    batch = max(batches(log))
    assert batch in batches(mill.checkpoint / "offsets")
    assert batch not in batches(commits)

    reports = mill.run("after")

    assert reports["publish"].outcome is Outcome.DONE
    assert len(whole_files(mill.sink)) == FILES_A_BATCH * len(DAYS)
    mill.assert_whole()
