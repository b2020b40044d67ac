"""The readers against Spark itself: what it really writes and reads back."""

from __future__ import annotations

from collections import defaultdict
from datetime import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest

from tests.support.pipelines.spark_query import SCHEMA, Query
from tidemill.file_formats.parquet import read_footer
from tidemill.spark_logs.partition_paths import partition_values
from tidemill.spark_logs.sink_log import FilesOfBatchUnknown, SinkMoved

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# One a batch; the null of every batch makes two files of each.
VALUES = [
    *("a b", "a:b", "50%", "x/y", "k=v", "#h", "q?", "é", "e\u0301", "日本 語", "a%20b", "+plus"),
    *("back\\slash", "quote\"'", "{curly}", "[sq]", "*star", "~t^`|<>", ".dot", "_under"),
    *("trailing ", "\u00a0nbsp", "😀", "null", "plain"),
]


@pytest.fixture(scope="module")
def finished(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Query:
    """A query after 25 batches, of which Spark has compacted 20; nothing may change it."""
    query = Query(tmp_path_factory.mktemp("finished"))
    for number, value in enumerate(VALUES):
        query.arrive(number, value)
    assert query.run(spark) == list(range(25))
    return query


@pytest.fixture
def query(tmp_path: Path) -> Query:
    return Query(tmp_path)


def files_of_rows(spark: SparkSession, sink: Path) -> dict[Path, list[Any]]:
    """Which rows Spark reads from which file, by Spark's own word."""
    frame = spark.read.schema(SCHEMA).parquet(str(sink)).selectExpr("*", "_metadata.file_path f")
    found = defaultdict(list)
    for row in frame.collect():
        found[Path(unquote(row["f"].removeprefix("file:")))].append(row)
    return dict(found)


def test_the_files_are_those_that_spark_reads(spark: SparkSession, finished: Query) -> None:
    log = finished.sink_log()
    assert (log.latest, log.compacted_upto) == (24, 19)
    assert {file.path for file in log.files} == set(files_of_rows(spark, finished.sink))
    for file in log.files:
        status = file.path.stat()
        assert (file.size, file.modified_ms) == (status.st_size, status.st_mtime_ns // 10**6)


def test_the_files_of_each_batch_hold_the_rows_of_its_input(
    spark: SparkSession, finished: Query
) -> None:
    log, rows = finished.sink_log(), files_of_rows(spark, finished.sink)
    for batch in range(25):
        ids = [row["id"] for file in log.files_of(batch) for row in rows[file.path]]
        assert sorted(ids) == [2 * batch, 2 * batch + 1]


def test_the_inputs_of_each_batch_are_its_file(finished: Query) -> None:
    inputs = finished.read_checkpoint().inputs()
    assert {batch: [file.path for file in inputs[batch]] for batch in inputs} == {
        batch: [finished.source / f"f é#% {batch:02d}.json"] for batch in range(25)
    }
    assert [inputs[batch][0].modified_ms for batch in (0, 24)] == [
        1_700_000_000_000,
        1_700_000_024_000,
    ]


def test_the_partition_values_are_those_that_spark_reads(
    spark: SparkSession, finished: Query
) -> None:
    rows = files_of_rows(spark, finished.sink)
    values = {file: partition_values(file, finished.sink) for file in rows}
    assert values == {file: {"k": found[0]["k"]} for file, found in rows.items()}
    assert {value["k"] for value in values.values()} == {*VALUES, None}


def test_an_empty_string_becomes_a_null(spark: SparkSession, query: Query) -> None:
    query.arrive(0, "")
    query.run(spark)
    for file in query.sink_log().files:
        assert partition_values(file.path, query.sink) == {"k": None}
    assert [row["k"] for row in query.rows(spark)] == [None, None]


def test_the_footers_count_and_bound_the_rows_that_spark_reads(
    spark: SparkSession, finished: Query
) -> None:
    for file, rows in files_of_rows(spark, finished.sink).items():
        footer = read_footer(file)
        assert footer.rows == len(rows)
        assert footer.null_counts == {"id": 0, "amount": 0, "at": 0}
        for column in ("id", "amount"):
            values = [row[column] for row in rows]
            assert footer.min_values[column] == min(values)
            assert footer.max_values[column] == max(values)
        assert footer.max_values["at"].time() == time(12, 34, 56, 123456)


def test_the_checkpoint_is_that_of_the_query(spark: SparkSession, query: Query) -> None:
    query.arrive(0)
    query.run(spark)
    found = query.read_checkpoint()
    assert (found.latest_offsets, found.latest_commit) == (0, 0)
    assert found.offsets[0].conf["spark.sql.shuffle.partitions"] == "2"
    query.arrive(1)
    query.run(spark)
    assert query.read_checkpoint().query_id == found.query_id


def test_version_2_of_the_offset_log_is_read(spark: SparkSession, query: Query) -> None:
    setting = "spark.sql.streaming.offsetLog.formatVersion"
    query.arrive(0)
    spark.conf.set(setting, "2")
    try:
        query.run(spark)
    finally:
        spark.conf.unset(setting)
    assert (query.checkpoint / "offsets" / "0").read_text().startswith("v2\n")
    assert len(query.read_checkpoint().inputs()[0]) == 1


def test_a_batch_without_output_has_an_entry(spark: SparkSession, query: Query) -> None:
    for number in range(2):
        query.arrive(number)
    query.run(spark, where="id < 0")
    log = query.sink_log()
    assert log.latest == 1
    assert dict(log.single) == {0: (), 1: ()}


def test_a_moved_sink_reads_as_no_rows_in_spark_and_is_refused_here(
    spark: SparkSession, query: Query
) -> None:
    query.arrive(0)
    query.run(spark, partition_by=())
    moved = Query(query.home / "moved")
    moved.home.mkdir()
    query.sink.rename(moved.sink)
    assert moved.rows(spark) == []
    with pytest.raises(SinkMoved) as refused:
        moved.sink_log()
    assert (refused.value.recorded, refused.value.actual) == (query.sink, moved.sink)


RETENTION = {
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.fileSink.log.compactInterval": "3",
    "spark.sql.streaming.fileSink.log.cleanupDelay": "0",
    "spark.sql.streaming.fileSource.log.compactInterval": "3",
    "spark.sql.streaming.fileSource.log.cleanupDelay": "0",
}


@pytest.fixture
def short_memory(spark: SparkSession) -> Any:
    """A Spark that forgets all but the last two batches."""
    for key, value in RETENTION.items():
        spark.conf.set(key, value)
    yield
    for key in RETENTION:
        spark.conf.unset(key)


@pytest.mark.usefixtures("short_memory")
def test_what_spark_forgets_is_complete_as_long_as_the_ledger_keeps_up(
    spark: SparkSession, query: Query
) -> None:
    kept: dict[int, set[Path]] = {}
    for number in range(14):
        query.arrive(number)
        query.run(spark)
        known = set().union(*kept.values())
        kept[number] = {file.path for file in query.sink_log().files_of(number, known)}
    assert all(len(files) == 2 for files in kept.values())
    assert set().union(*kept.values()) == set(files_of_rows(spark, query.sink))
    with pytest.raises(FilesOfBatchUnknown):
        query.sink_log().files_of(5, set().union(*kept.values()))
    assert min(query.read_checkpoint().commits) > 10
    assert [file.path.name for file in query.read_checkpoint().inputs()[13]] == ["f é#% 13.json"]
