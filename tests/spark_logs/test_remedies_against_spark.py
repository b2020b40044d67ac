"""What bricks Spark, and that our remedies fix it without losing or doubling a row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.pipelines.spark_query import Query
from tidemill.file_formats.parquet import read_footers
from tidemill.spark_logs.checkpoint import first_write_leftovers
from tidemill.spark_logs.metadata_log import TornLogEntry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def query(tmp_path: Path) -> Query:
    return Query(tmp_path)


TEMPORARY = ".0.3d6f7a52-8d0c-4b0f-9a77-0a3b1f6f2f11.tmp"
CHECKSUM = ".0.crc"


def plant(query: Query, name: str) -> Path:
    """A driver that died in its very first write, and the input it was to read."""
    query.arrive(0)
    leftover = query.checkpoint / "offsets" / name
    leftover.parent.mkdir(parents=True)
    leftover.write_text("v1\n{")
    return leftover


def failure(spark: SparkSession, query: Query) -> str:
    from pyspark.errors import StreamingQueryException

    with pytest.raises(StreamingQueryException) as failed:
        query.run(spark)
    return str(failed.value)


def test_a_leftover_of_the_first_write_fails_every_run(spark: SparkSession, query: Query) -> None:
    plant(query, TEMPORARY)
    for _ in range(2):
        assert "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY" in failure(spark, query)


def test_a_checksum_without_its_entry_fails_the_run(spark: SparkSession, query: Query) -> None:
    plant(query, CHECKSUM)
    assert "concurrently using" in failure(spark, query)


@pytest.mark.parametrize("name", [TEMPORARY, CHECKSUM])
def test_deleting_the_leftovers_of_the_first_write_mends_the_checkpoint(
    spark: SparkSession, query: Query, name: str
) -> None:
    leftover = plant(query, name)
    assert first_write_leftovers(query.checkpoint, query.sink_log()) == (leftover,)
    leftover.unlink()
    assert query.run(spark) == [0]
    assert len(query.rows(spark)) == 2
    assert first_write_leftovers(query.checkpoint, query.sink_log()) == ()


@pytest.mark.parametrize(
    "log", ["checkpoint/offsets", "checkpoint/commits", "_live-0001/_spark_metadata"]
)
def test_the_remedy_for_a_torn_last_entry_loses_and_doubles_nothing(
    spark: SparkSession, query: Query, log: str
) -> None:
    for number in range(2):
        query.arrive(number)
    query.run(spark)
    # As if the driver had died before it wrote what comes after the torn entry.
    order = ["checkpoint/offsets", "_live-0001/_spark_metadata", "checkpoint/commits"]
    for later in order[order.index(log) :]:
        remove_entry(query.home / later / "1")
    torn = query.home / log / "1"
    torn.write_text("")
    with pytest.raises(TornLogEntry) as refused:
        read_all(query)
    assert refused.value.file == torn
    remove_entry(refused.value.file)
    assert query.run(spark) == [1]
    assert sorted(row["id"] for row in query.rows(spark)) == [0, 1, 2, 3]
    assert sum(f.rows for f in read_footers(f.path for f in query.sink_log().files)) == 4


def read_all(query: Query) -> None:
    query.read_checkpoint()
    query.sink_log()


def remove_entry(file: Path) -> None:
    """What a repair does with an unknown batch: the entry goes, and its checksum."""
    file.unlink(missing_ok=True)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
