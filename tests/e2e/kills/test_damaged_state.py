"""Files of Spark's state that are damaged or gone: computed again, or refused by their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.kills.killed_driver import Kept
from tests.support.pipelines.door_events import Actions
from tests.support.pipelines.pipeline_folder import STEPS
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome, Report
from tidemill.ledger.ledger import Ledger
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
    # A person takes input away now and then, and no run asks for it.
    mill.spec["sources"]["events"] |= {"vanished": "ignore"}
    mill.write_spec()
    mill.arrive_hours(0, 1, 2)
    assert mill.run("before")["publish"].outcome is Outcome.DONE
    mill.arrive_hours(3)
    return Kept(mill)


@pytest.fixture
def mill(kept: Kept) -> Actions:
    mill = kept.back()
    assert isinstance(mill, Actions)
    code_of(mill).write_text(mill.transform)
    return mill


def code_of(mill: Actions) -> Path:
    return mill.home / "project/spark_jobs/transforms/orders.py"


def damage(*files: Path) -> None:
    """Change one byte in the middle of each file."""
    for file in files:
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 0x41
        file.write_bytes(content)


def remove(*files: Path) -> None:
    """As a power cut leaves names that were not synced."""
    for file in files:
        file.unlink()
        file.with_name(f".{file.name}.crc").unlink()


def empty(*files: Path) -> None:
    """As a power cut leaves contents that were not synced."""
    for file in files:
        file.write_bytes(b"")
        file.with_name(f".{file.name}.crc").unlink()


def records(mill: Actions) -> dict[str, bytes]:
    """The ledger's records of the first three batches, and the manifests of their files."""
    found = [mill.layout.ledger(FIRST_GENERATION) / f"{n:06d}.json" for n in range(3)]
    found += [mill.sink / f"batch={n}/_manifest.json" for n in range(3)]
    return {str(path): path.read_bytes() for path in found}


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


def test_a_description_that_is_damaged_is_refused_by_its_name(mill: Actions) -> None:
    (file,) = state_files(mill, "0/_metadata/schema")
    damage(file)
    assert_refused(mill, file)

    # As from a backup.
    damage(file)
    assert_goes_on(mill)


@pytest.mark.parametrize(
    ("how", "lost"),
    [
        (damage, ("0/3",)),
        (empty, ("0/3",)),
        (remove, ("1/2",)),
        (remove, ("0/1", "0/2", "0/3", "1/3")),
    ],
)
def test_lost_changes_are_computed_again(
    mill: Actions, how: Callable[..., None], lost: tuple[str, ...]
) -> None:
    files = [mill.checkpoint / "state/0" / f"{name}.changelog" for name in lost]
    how(*files)
    known = records(mill)
    assert_goes_on(mill)
    assert records(mill) == known
    assert not list(mill.checkpoint.parent.glob("state-*"))


def test_a_file_that_a_paused_driver_wrote_over_its_successors_is_as_good(mill: Actions) -> None:
    files = [*(mill.checkpoint / "state/0").glob("*/*3.changelog*")]
    files += [*(mill.checkpoint / "state/0").glob("*/.3.changelog.crc")]
    of_paused = {file: file.read_bytes() for file in files}
    mill.forget_commit(2)
    assert_goes_on(mill, "successor")
    mill.arrive_hours(4)
    for file, content in of_paused.items():
        file.write_bytes(content)
    assert_goes_on(mill)


@pytest.mark.remedy("StateDamaged")
def test_a_rebuild_mends_state_that_other_code_would_compute_otherwise(mill: Actions) -> None:
    files = state_files(mill, "*/2.changelog")
    damage(*files)
    code_of(mill).write_text(f"{mill.transform}# Another release.\n")
    assert_refused(mill, *sorted(files))

    request = RunRequest(role="rebuild", by="ada", reason="damaged state")
    fix_request(mill.layout.run("rebuild"), request)
    assert_goes_on(mill, "rebuild")

    mill.arrive_hours(4)
    assert_goes_on(mill)


def test_state_whose_input_is_gone_is_refused_by_its_file(mill: Actions) -> None:
    (file,) = state_files(mill, "1/2.changelog")
    remove(file)
    read = Ledger(mill.layout, FIRST_GENERATION).batches()[2].inputs[0].on_disk
    away = read.rename(mill.home / "away.json")
    assert_refused(mill, file)

    away.rename(read)
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
