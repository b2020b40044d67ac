"""Stopping a query: between its batches, whatever it is doing when it is asked to."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from tests.support.processes import wait_for
from tidemill.engine.run.graceful_stop import Brake
from tidemill.engine.spark_internals.query_state import at_work


class Counting:
    """A query over files, one a batch, that says where it is in each batch."""

    def __init__(self, spark: SparkSession, home: Path, files: int) -> None:
        self.spark, self.home = spark, home
        self.begun, self.ended = Event(), Event()
        self.go_on = Event()
        self.go_on.set()
        self.done: list[int] = []
        (home / "in").mkdir()
        for number in range(files):
            (home / "in" / f"{number}.txt").write_text("x\n")

    def start(self, **trigger: Any) -> StreamingQuery:
        rows = (
            self.spark.readStream.name("lines")
            .schema("value string")
            .option("maxFilesPerTrigger", 1)
            .text(str(self.home / "in"))
        )
        writer = rows.writeStream.foreachBatch(self._batch)
        writer = writer.option("checkpointLocation", str(self.home / "checkpoint"))
        return (writer.trigger(**trigger) if trigger else writer).start()

    def _batch(self, rows: Any, batch: int) -> None:
        self.begun.set()
        assert self.go_on.wait(30)
        rows.count()
        self.done.append(batch)

    @property
    def logged(self) -> tuple[int, int]:
        """How many batches were planned, and how many committed."""
        planned, committed = (
            len(list((self.home / "checkpoint" / name).glob("[0-9]*")))
            for name in ("offsets", "commits")
        )
        return planned, committed


@pytest.fixture
def named(spark: SparkSession) -> SparkSession:
    """Spark with the settings under which sources have names."""
    spark.conf.set("spark.sql.streaming.queryEvolution.enableSourceEvolution", "true")
    spark.conf.set("spark.sql.streaming.offsetLog.formatVersion", "2")
    return spark


@pytest.mark.parametrize("trigger", [{"availableNow": True}, {}, {"processingTime": "1 second"}])
def test_a_query_ends_after_exactly_the_batch_that_is_the_last(
    named: SparkSession, tmp_path: Path, trigger: dict[str, Any]
) -> None:
    counting = Counting(named, tmp_path, files=4)
    query = counting.start(**trigger)
    with Brake(named, query, lambda _: "enough" if len(counting.done) == 2 else None) as brake:
        wait_for(lambda: not at_work(query))
    assert (brake.reason, counting.done, counting.logged) == ("enough", [0, 1], (2, 2))
    assert query.exception() is None


def test_a_batch_at_work_is_finished(named: SparkSession, tmp_path: Path) -> None:
    counting = Counting(named, tmp_path, files=2)
    counting.go_on.clear()
    query = counting.start(availableNow=True)
    wait_for(counting.begun.is_set)
    asked = Event()
    with Brake(named, query, lambda _: asked.set() or "now"):
        wait_for(asked.is_set)
        # Told to end in the middle of batch 0, it is still at work on it.
        assert at_work(query)
        counting.go_on.set()
        wait_for(lambda: not at_work(query))
    assert (counting.done, counting.logged) == ([0], (1, 1))


def test_a_query_that_waits_for_its_next_trigger_is_not_waited_for(
    named: SparkSession, tmp_path: Path
) -> None:
    counting = Counting(named, tmp_path, files=1)
    query = counting.start(processingTime="1 hour")
    wait_for(lambda: counting.logged == (1, 1))
    with Brake(named, query, lambda _: "enough"):
        wait_for(lambda: not at_work(query))
    assert (counting.done, query.exception()) == ([0], None)


def test_an_error_while_deciding_ends_the_query_and_is_raised(
    named: SparkSession, tmp_path: Path
) -> None:
    counting = Counting(named, tmp_path, files=1)
    query = counting.start()

    def fails(_: Event) -> str:
        raise LookupError

    with pytest.raises(LookupError), Brake(named, query, fails):
        wait_for(lambda: not at_work(query))


def test_leaving_early_gives_spark_its_lock_back(named: SparkSession, tmp_path: Path) -> None:
    counting = Counting(named, tmp_path, files=3)
    query = counting.start(availableNow=True)

    def interrupted() -> None:
        with Brake(named, query, lambda _: None):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    query.processAllAvailable()
    assert counting.done == [0, 1, 2]
