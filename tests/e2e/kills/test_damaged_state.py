"""A byte of Spark's state that is another than was written: fixed by Spark, or refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.kills.killed_driver import Kept
from tests.support.pipelines.door_events import Actions
from tests.support.pipelines.pipeline_folder import STEPS
from tidemill.contract.report import Outcome, Report
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.toolchain import spark_conf

ROW_CHECKSUM = "spark.sql.streaming.stateStore.rowChecksum.enabled"
# A snapshot of the state after each batch, which is else made of every tenth and a minute later.
SNAPSHOTS = {
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "1",
    "spark.sql.streaming.stateStore.unloadOnCommit": "true",
}


@pytest.fixture(scope="module")
def kept(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Three published batches of counts in two partitions of state, and another file."""
    mill = Actions(tmp_path_factory.mktemp("counts"))
    mill.arrive_hours(0, 1, 2)
    assert mill.run("before")["publish"].outcome is Outcome.DONE
    mill.arrive_hours(3)
    return Kept(mill)


@pytest.fixture
def mill(kept: Kept) -> Actions:
    mill = kept.back()
    assert isinstance(mill, Actions)
    return mill


def damage(*files: Path) -> None:
    """Change one byte in the middle of each file."""
    for file in files:
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 0x41
        file.write_bytes(content)


def state_files(mill: Actions, pattern: str) -> list[Path]:
    found = (mill.checkpoint / "state" / "0").glob(pattern)
    return [path for path in found if not path.name.startswith(".")]


def ingest(mill: Actions) -> Report:
    assert mill.step("doctor", "after").outcome is Outcome.DONE
    return mill.step("ingest", "after")


def assert_refused(mill: Actions, *files: Path) -> None:
    """An ingest that names damaged files, is not retried, and commits nothing."""
    report = ingest(mill)
    assert report.outcome is Outcome.FAILED
    assert report.error is not None
    assert (report.error["code"], report.error["transient"]) == ("StateDamaged", False)
    assert report.error["data"]["files"] == [str(file) for file in files]
    assert "tidemill rebuild orders" in report.error["remedy"]
    assert not (mill.checkpoint / "commits" / "3").exists()


def assert_goes_on(mill: Actions, run_id: str = "mended") -> None:
    last = mill.run(run_id)[STEPS[-1]]
    assert last.outcome is Outcome.DONE, last.error
    mill.assert_whole()


@pytest.mark.parametrize("pattern", ["0/3.changelog", "0/_metadata/schema"])
def test_a_changed_byte_is_refused_by_the_name_of_its_file(mill: Actions, pattern: str) -> None:
    (file,) = state_files(mill, pattern)
    damage(file)
    assert_refused(mill, file)

    # As from a backup.
    damage(file)
    assert_goes_on(mill)


def test_a_change_log_that_is_gone_is_refused_by_its_name(mill: Actions) -> None:
    (file,) = state_files(mill, "1/2.changelog")
    file.unlink()
    file.with_name(f".{file.name}.crc").unlink()
    assert_refused(mill, file)


@pytest.mark.remedy("StateDamaged")
def test_a_rebuild_mends_damaged_state(mill: Actions) -> None:
    files = state_files(mill, "*/2.changelog")
    damage(*files)
    assert_refused(mill, *sorted(files))

    request = RunRequest(role="rebuild", by="ada", reason="damaged state")
    fix_request(mill.layout.run("rebuild"), request)
    assert_goes_on(mill, "rebuild")

    mill.arrive_hours(4)
    assert_goes_on(mill)


def test_the_description_of_an_operator_is_not_needed_to_go_on(mill: Actions) -> None:
    (file,) = state_files(mill, "_metadata/metadata")
    damage(file)
    assert_goes_on(mill)


def test_spark_goes_round_damaged_snapshots_by_the_changes_before_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    mill = Actions(tmp_path)
    mill.spec["spark"] = {"conf": SNAPSHOTS}
    mill.write_spec()
    mill.arrive_hours(0, 1, 2)
    assert_goes_on(mill, "before")
    snapshots, tables = state_files(mill, "*/*.zip"), state_files(mill, "*/SSTs/*.sst")
    assert snapshots
    assert tables
    damage(*snapshots, *tables)
    mill.arrive_hours(3)
    assert_goes_on(mill)


def test_a_generation_keeps_the_checksums_of_rows_that_it_was_born_with(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill = Actions(tmp_path)
    mill.arrive_hours(0, 1)
    with monkeypatch.context() as before:
        older = spark_conf.engine_conf(mill.pipeline.spec) | {ROW_CHECKSUM: "false"}
        before.setattr(spark_conf, "engine_conf", lambda *_: older)
        assert_goes_on(mill, "before")
    mill.arrive_hours(2)
    assert_goes_on(mill)
    plans = [(mill.checkpoint / "offsets" / str(batch)).read_text() for batch in (0, 2)]
    assert all(f'"{ROW_CHECKSUM}":"false"' in plan for plan in plans)


def test_a_new_generation_has_a_checksum_of_each_row(mill: Actions) -> None:
    assert f'"{ROW_CHECKSUM}":"true"' in (mill.checkpoint / "offsets" / "0").read_text()
