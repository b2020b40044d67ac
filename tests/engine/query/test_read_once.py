"""A source that a plan names twice stands in the checkpoint once, and every row is read by both."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemill.engine.query.read_once import read_once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """With sources that go by name."""
    settings = {
        "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
        "spark.sql.streaming.offsetLog.formatVersion": "2",
    }
    own = spark.newSession()
    for name, value in settings.items():
        own.conf.set(name, value)
    return own


@pytest.fixture
def events(session: SparkSession, tmp_path: Path) -> DataFrame:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(2):
        lines = [{"word": "a", "n": number}, {"word": None, "n": number}]
        text = "\n".join(json.dumps(line) for line in lines)
        path = folder / f"{number}.json"
        path.write_text(text)
        os.utime(path, (number, number))
    reader = session.readStream.name("events").option("maxFilesPerTrigger", 1)
    return reader.schema("word string, n int").json(str(folder))


def both(events: DataFrame) -> DataFrame:
    """Counted words and, from a second pass, what has no word."""
    counted = events.where("word IS NOT NULL").groupBy("word").count()
    nothing = events.where("word IS NULL").select(
        F.lit(None).cast("string").alias("word"), (-F.col("n")).cast("long").alias("count")
    )
    return counted.unionByName(nothing)


def run(frame: DataFrame, checkpoint: Path) -> list[list[tuple[str | None, int]]]:
    batches = []
    query = (
        frame.writeStream.outputMode("update")
        .option("checkpointLocation", str(checkpoint))
        .foreachBatch(lambda rows, _: batches.append([tuple(row) for row in rows.collect()]))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return [sorted(batch, key=str) for batch in batches]


def test_two_passes_over_a_named_source_are_one_source(events: DataFrame, tmp_path: Path) -> None:
    batches = run(read_once(both(events)), tmp_path / "checkpoint")

    assert batches == [[("a", 1), (None, 0)], [("a", 2), (None, -1)]]
    assert [path.name for path in (tmp_path / "checkpoint" / "sources").iterdir()] == ["events"]


def test_a_source_joined_to_itself_keeps_both_sides(events: DataFrame, tmp_path: Path) -> None:
    left, right = events.alias("left"), events.alias("right")
    joined = left.join(right, F.col("left.n") == F.col("right.n")).groupBy("left.word").count()

    batches = run(read_once(joined), tmp_path / "checkpoint")

    assert batches == [[("a", 2), (None, 2)], [("a", 4), (None, 4)]]


def test_a_plan_that_names_a_source_once_stays_as_it_is(events: DataFrame) -> None:
    assert read_once(events) is events
