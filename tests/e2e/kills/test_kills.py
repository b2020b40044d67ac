"""The whole process group is killed where Spark is weakest; nothing is lost or doubled."""

from __future__ import annotations

from pathlib import Path

from tests.support.kills.kill_at_point import kill_at
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome
from tidemill.ledger.orphans import read_orphans

DAYS = range(1, 8)
FILES_A_BATCH = 2


def batches(folder: Path) -> set[int]:
    return {int(entry.name) for entry in folder.glob("*") if entry.name.isdecimal()}


def data_files(sink: Path) -> set[Path]:
    return set(sink.glob("*/part-*.parquet"))


def whole_files(sink: Path) -> set[Path]:
    """Parquet files that are written to their last byte."""
    files = set()
    for path in data_files(sink):
        with path.open("rb") as file:
            if path.stat().st_size > 12 and file.seek(-4, 2) and file.read() == b"PAR1":
                files.add(path)
    return files


def test_a_kill_in_the_middle_of_a_data_file_leaves_half_a_file_that_nobody_reads(
    mill: OrdersPipeline, spark: object
) -> None:
    # So many rows that a file is not written in a moment.
    mill.deliver_days(range(1, 2), rows=20_000)

    def half_a_file() -> bool:
        return bool(data_files(mill.sink) - whole_files(mill.sink))

    near = mill.checkpoint / "offsets" / "0"
    kill_at(mill.start("ingest", "killed"), near, half_a_file)
    half = data_files(mill.sink) - whole_files(mill.sink)
    assert half

    assert mill.run("after")["publish"].outcome is Outcome.DONE

    mill.assert_whole()
    assert half <= data_files(mill.sink) - whole_files(mill.sink)
    found = read_orphans(mill.layout, FIRST_GENERATION)
    assert found is not None
    assert found.files >= len(half)


def test_a_kill_between_data_files_and_sink_log_leaves_orphans_and_no_trace(
    mill: OrdersPipeline, spark: object
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
    mill: OrdersPipeline, spark: object
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
