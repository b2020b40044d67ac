"""A batch is written once, by whoever holds the lease, and only if its rows can replace others."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from tests.support.histories.history_builder import NAME
from tests.support.histories.net_history_builder import NetHistory, count, hour
from tests.support.histories.spark_log_builder import write_named_offsets
from tests.support.remedies import carry_out
from tidemill.contract.errors import LeaseLost
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.engine import callback_errors
from tidemill.engine.query.reject import REJECT_TYPE
from tidemill.engine.query.row_counts import StageAttempts
from tidemill.engine.sinks.manifest_sink import Attempts
from tidemill.engine.sinks.row_keys import KeyTwice, TooManyRows
from tidemill.ledger.manifests import (
    Manifest,
    ManifestForeign,
    put_manifest,
    read_attempts,
    read_manifest,
)
from tidemill.storage.lease import Lease, hold

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
Write = Callable[..., None]
COLUMNS = "action string, hour timestamp, count long"


@pytest.fixture
def history(tmp_path: Path) -> NetHistory:
    history = NetHistory(tmp_path / "pipeline")
    write_named_offsets(history.checkpoint, 0, orders=0)
    return history


def frame(spark: SparkSession, rows: Sequence[Row], rejected: int = 0) -> DataFrame:
    """What the sink of an unpartitioned pipeline is given."""
    schema = f"{COLUMNS}, _reject {REJECT_TYPE}, _rejected boolean"
    good = [(row["action"], row["hour"], row["count"], None, False) for row in rows]
    bad = [(None, None, None, ("rule", "file", "{}", None), True)] * rejected
    return spark.createDataFrame([*good, *bad], schema)


def sink(history: NetHistory, spark: SparkSession, epoch: int = 1) -> Attempts:
    lease = Lease(history.layout.lease, epoch)
    run = history.run("run").holding(lease)
    return Attempts(spark, run, FIRST_GENERATION, StageAttempts(spark.sparkContext))


def directories(history: NetHistory, batch: int = 0) -> list[str]:
    found = (history.sink / f"batch={batch}").glob("attempt-*")
    return sorted(path.name for path in found)


def the_manifest(history: NetHistory, batch: int = 0) -> Manifest:
    manifest = read_manifest(history.sink, batch)
    assert manifest is not None
    return manifest


def test_a_manifest_says_what_was_written(history: NetHistory, spark: SparkSession) -> None:
    sink(history, spark, epoch=7)(frame(spark, [count("open", 1, 1)], rejected=2), 0)

    manifest = the_manifest(history)
    assert (manifest.epoch, manifest.run_id, manifest.offsets) == (
        7,
        "run",
        {"orders": {"logOffset": 0}},
    )
    rows = {Path(file.path).parent.name: file.rows for file in manifest.files}
    assert rows == {"_rejected=false": 1, "_rejected=true": 2}
    assert directories(history) == [manifest.attempt]
    for file in read_attempts(history.sink).files_of(0):
        assert file.path.stat().st_size == file.size


def test_a_batch_that_is_written_is_not_written_again(
    history: NetHistory, spark: SparkSession
) -> None:
    sink(history, spark)(frame(spark, [count("open", 1, 1)]), 0)
    before = the_manifest(history)

    seen = Observation()
    rows = frame(spark, [count("open", 1, 1)]).observe(seen, F.count("action").alias("rows"))
    sink(history, spark, epoch=2)(rows, 0)

    assert the_manifest(history) == before
    assert directories(history) == [before.attempt]
    # A stateful query keeps its state only where its rows are read.
    assert seen.get == {"rows": 1}


def test_what_an_attempt_left_that_was_killed_is_not_read(
    history: NetHistory, spark: SparkSession
) -> None:
    left = history.attempt(0, [count("open", 1, 99)])
    sink(history, spark)(frame(spark, [count("open", 1, 1)]), 0)

    assert len(directories(history)) == 2
    assert the_manifest(history).attempt != left
    (file,) = read_attempts(history.sink).files_of(0)
    assert left not in file.path.parts


def test_a_batch_without_rows_has_a_manifest_without_files(
    history: NetHistory, spark: SparkSession
) -> None:
    sink(history, spark)(frame(spark, []), 0)

    assert sum(file.rows for file in the_manifest(history).files) == 0
    assert read_attempts(history.sink).latest == 0


def test_partitions_are_laid_out_as_by_the_file_sink(tmp_path: Path, spark: SparkSession) -> None:
    history = NetHistory(
        tmp_path / "pipeline", partitions={"day": date}, keys=("action", "hour", "day")
    )
    write_named_offsets(history.checkpoint, 0, orders=0)
    day = date(2024, 1, 1)
    good = ("open", hour(1), 1, None, day)
    bad: tuple[Any, ...] = (None, None, None, ("rule", "file", "{}", {}), None)
    rows = spark.createDataFrame([good, bad], f"{COLUMNS}, _reject {REJECT_TYPE}, day date")

    sink(history, spark)(rows, 0)

    folders = {Path(file.path).parent.name for file in the_manifest(history).files}
    assert folders == {"day=2024-01-01", "day=__HIVE_DEFAULT_PARTITION__"}


def test_whoever_lost_the_lease_puts_no_manifest(history: NetHistory, spark: SparkSession) -> None:
    with hold(history.layout.lease, step="ingest", run_id="old") as old:
        pass
    with hold(history.layout.lease, step="ingest", run_id="new"), pytest.raises(LeaseLost):
        sink(history, spark, old.epoch)(frame(spark, [count("open", 1, 1)]), 0)

    assert read_attempts(history.sink).latest is None
    assert isinstance(callback_errors.take(NAME), LeaseLost)


def test_of_two_drivers_one_manifest_counts(
    history: NetHistory, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def after_another(folder: Path, manifest: Manifest) -> Manifest:
        put_manifest(folder, manifest.model_copy(update={"run_id": "another"}))
        return put_manifest(folder, manifest)

    monkeypatch.setattr("tidemill.engine.sinks.manifest_sink.put_manifest", after_another)
    sink(history, spark)(frame(spark, [count("open", 1, 1)]), 0)

    assert the_manifest(history).run_id == "another"


@pytest.mark.remedy("ManifestForeign")
def test_a_batch_written_from_other_input_is_refused(
    history: NetHistory, spark: SparkSession
) -> None:
    sink(history, spark)(frame(spark, [count("open", 1, 1)]), 0)
    write_named_offsets(history.checkpoint, 0, orders=5)

    with pytest.raises(ManifestForeign) as refused:
        sink(history, spark)(frame(spark, [count("open", 1, 2)]), 0)
    assert refused.value.batch == 0
    assert refused.value.planned == {"orders": {"logOffset": 5}}
    history.layout.home.rename(history.home / "away")
    carry_out(history, refused.value.remedy, "drop")


def test_a_key_twice_in_a_batch_is_refused(history: NetHistory, spark: SparkSession) -> None:
    rows = [count("open", 1, 1), count("open", 2, 1), count("open", 1, 2)]

    with pytest.raises(KeyTwice) as refused:
        sink(history, spark)(frame(spark, rows, rejected=3), 0)

    assert refused.value.keys == ("action", "hour")
    assert refused.value.example == {"action": "open", "hour": hour(1)}
    assert refused.value.rows == 2
    assert read_manifest(history.sink, 0) is None


def test_a_null_key_is_a_key_like_others(history: NetHistory, spark: SparkSession) -> None:
    null = {**count("open", 1, 1), "action": None}
    sink(history, spark)(frame(spark, [count("open", 1, 1), null]), 0)
    assert read_manifest(history.sink, 0) is not None

    write_named_offsets(history.checkpoint, 1, orders=1)
    with pytest.raises(KeyTwice) as refused:
        sink(history, spark)(frame(spark, [null, null]), 1)

    assert refused.value.example == {"action": None, "hour": hour(1)}


def test_a_whole_result_beyond_its_limit_is_refused(tmp_path: Path, spark: SparkSession) -> None:
    history = NetHistory(tmp_path / "pipeline", mode="complete", keys=(), output=", max_rows: 2")
    write_named_offsets(history.checkpoint, 0, orders=0)
    sink(history, spark)(frame(spark, [count("open", n, 1) for n in range(2)], rejected=5), 0)
    shutil.rmtree(history.sink)

    with pytest.raises(TooManyRows) as refused:
        sink(history, spark)(frame(spark, [count("open", n, 1) for n in range(3)]), 0)

    assert (refused.value.rows, refused.value.max_rows) == (3, 2)
    assert read_manifest(history.sink, 0) is None
