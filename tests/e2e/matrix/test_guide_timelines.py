"""The figures of the guides, trigger by trigger, from literal tables; nothing here is computed.

The Structured Streaming guide: "Windowed Grouped Aggregation with 10 min windows, sliding every
5 mins", "Late data handling", "Watermarking in Update Mode" and "in Append Mode". Chapter 8 of
*Learning Spark* (2nd edition): readings of sensors in tumbling and overlapping windows, and which
of them are late under a watermark of ten minutes.

A trigger of a figure is a run here: between two of them Spark works off what the watermark closed,
as it does between two triggers. The figures leave out windows that hold only the edge of what they
tell (11:55 to 12:05, say); the tables here have them all. In the table of a trigger a window is
named by its start.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome
from tidemill.ledger.batch import Batch

Table = set[tuple[Any, ...]]
DAY = "2026-03-01"
COUNTS = """
from pyspark.sql import functions as F


def transform(events):
    counts = events.groupBy(F.window("at", {window}).alias("window"), "{key}").count()
    return counts.select(F.date_format("window.start", "HH:mm").alias("start"), "{key}", "count")
"""
SLIDING, TUMBLING = '"10 minutes", "5 minutes"', '"5 minutes"'


class Timeline(JsonPipeline):
    """A query whose triggers are runs, each with one file.

    Args:
        home: An empty directory.
        window: The arguments of Spark's `window` after the time column.
        key: What is counted beside the window.
        mode: The output mode.
        watermark: The delay; None for none.
    """

    def __init__(
        self, home: Path, window: str, key: str, mode: str, watermark: str | None = None
    ) -> None:
        late = {"watermark": watermark} if watermark else {}
        self.key = key
        super().__init__(
            home,
            {"events": f"at timestamp, {key} string"},
            {
                "event_time": {"column": "at", **late},
                "output": {"mode": mode, "keys": ["start", key]},
            },
            COUNTS.format(window=window, key=key),
        )

    def trigger(self, *events: tuple[str, str]) -> Table:
        """What the query writes when these have arrived, batches without input included."""
        return set().union(*self.batch_by_batch([events]))

    def batch_by_batch(self, files: Sequence[Sequence[tuple[str, str]]]) -> list[Table]:
        """What each batch of one run writes when these files have arrived."""
        before = len(self.batches)
        for number, events in enumerate(files, before):
            self.arrive("events", f"{number:03d}", [self._row(*event) for event in events])
        report = self.step("ingest", f"run-{before}")
        assert report.outcome is Outcome.DONE, report.error
        return [self._written(batch) for batch in self.batches[before:]]

    def _written(self, batch: Batch) -> Table:
        sink = self.layout.sink(FIRST_GENERATION)
        columns = ["start", self.key, "count"]
        files = [pq.ParquetFile(sink / file.path).read(columns) for file in batch.outputs]
        return {tuple(row.values()) for rows in files for row in rows.to_pylist()}

    def _row(self, time: str, what: str) -> dict[str, str]:
        return {"at": f"{DAY}T{time}:00Z", self.key: what}

    def publish(self) -> Table:
        """What readers see after gate and publish."""
        for step in ("gate", "publish"):
            report = self.step(step, "last")
            assert report.outcome is Outcome.DONE, report.error
        return set(self.published("start", self.key, "count"))


def test_windowed_grouped_aggregation_and_a_late_word(tmp_path: Path, spark: object) -> None:
    words = Timeline(tmp_path, SLIDING, "word", "complete")
    at_12_05 = words.trigger(("12:02", "cat"), ("12:02", "dog"), ("12:03", "dog"), ("12:03", "dog"))
    assert at_12_05 == {
        ("11:55", "cat", 1),
        ("11:55", "dog", 3),
        ("12:00", "cat", 1),
        ("12:00", "dog", 3),
    }
    at_12_10 = words.trigger(("12:07", "owl"), ("12:07", "cat"))
    assert at_12_10 == {
        ("11:55", "cat", 1),
        ("11:55", "dog", 3),
        ("12:00", "cat", 2),
        ("12:00", "dog", 3),
        ("12:00", "owl", 1),
        ("12:05", "cat", 1),
        ("12:05", "owl", 1),
    }
    # 12:04 is said late, and counts for its own time.
    at_12_15 = words.trigger(("12:11", "dog"), ("12:04", "dog"), ("12:13", "owl"))
    assert at_12_15 == {
        ("11:55", "cat", 1),
        ("11:55", "dog", 4),
        ("12:00", "cat", 2),
        ("12:00", "dog", 4),
        ("12:00", "owl", 1),
        ("12:05", "cat", 1),
        ("12:05", "dog", 1),
        ("12:05", "owl", 2),
        ("12:10", "dog", 1),
        ("12:10", "owl", 1),
    }
    assert words.publish() == at_12_15


# What arrives before each trigger of the two figures with a watermark, from 12:10 to 12:25.
ARRIVALS: Sequence[Sequence[tuple[str, str]]] = [
    [("12:07", "dog"), ("12:08", "owl")],
    [("12:14", "dog"), ("12:09", "cat")],
    [("12:15", "cat"), ("12:08", "dog"), ("12:13", "owl"), ("12:21", "owl")],
    [("12:04", "donkey"), ("12:17", "monkey")],
]


def test_watermarking_in_update_mode(tmp_path: Path, spark: object) -> None:
    words = Timeline(tmp_path, SLIDING, "word", "update", "10 minutes")
    at_12_10, at_12_15, at_12_20, at_12_25 = [words.trigger(*events) for events in ARRIVALS]
    assert at_12_10 == {
        ("12:00", "dog", 1),
        ("12:00", "owl", 1),
        ("12:05", "dog", 1),
        ("12:05", "owl", 1),
    }
    # Only what changed is written: the owl is as it was.
    assert at_12_15 == {
        ("12:00", "cat", 1),
        ("12:05", "cat", 1),
        ("12:05", "dog", 2),
        ("12:10", "dog", 1),
    }
    # The watermark is 12:04, and the dog of 12:08 is within it.
    assert at_12_20 == {
        ("12:00", "dog", 2),
        ("12:05", "dog", 3),
        ("12:05", "owl", 2),
        ("12:10", "cat", 1),
        ("12:10", "owl", 1),
        ("12:15", "cat", 1),
        ("12:15", "owl", 1),
        ("12:20", "owl", 1),
    }
    # It is 12:11 now: the window from 12:00 is closed, and the donkey of 12:04 too late.
    assert at_12_25 == {("12:10", "monkey", 1), ("12:15", "monkey", 1)}
    assert words.publish() == {
        ("12:00", "cat", 1),
        ("12:00", "dog", 2),
        ("12:00", "owl", 1),
        ("12:05", "cat", 1),
        ("12:05", "dog", 3),
        ("12:05", "owl", 2),
        ("12:10", "cat", 1),
        ("12:10", "dog", 1),
        ("12:10", "monkey", 1),
        ("12:10", "owl", 1),
        ("12:15", "cat", 1),
        ("12:15", "monkey", 1),
        ("12:15", "owl", 1),
        ("12:20", "owl", 1),
    }


def test_watermarking_in_append_mode(tmp_path: Path, spark: object) -> None:
    words = Timeline(tmp_path, SLIDING, "word", "append", "10 minutes")
    at_12_10, at_12_15, at_12_20, at_12_25 = [words.trigger(*events) for events in ARRIVALS]
    # Nothing is final before the watermark is 12:11, which it becomes by the owl of 12:21.
    assert at_12_10 == set()
    assert at_12_15 == set()
    # The figure shows it at the trigger after that; Spark no longer waits for one.
    assert at_12_20 == {("12:00", "cat", 1), ("12:00", "dog", 2), ("12:00", "owl", 1)}
    assert at_12_25 == set()
    assert words.publish() == {("12:00", "cat", 1), ("12:00", "dog", 2), ("12:00", "owl", 1)}


def test_within_one_run_a_word_is_late_by_the_watermark_of_the_batch_before(
    tmp_path: Path, spark: object
) -> None:
    words = Timeline(tmp_path, SLIDING, "word", "append", "10 minutes")
    # Nothing is worked off between these batches: the donkey's comes while it is still 12:04.
    assert words.batch_by_batch(ARRIVALS) == [
        set(),
        set(),
        set(),
        {
            ("11:55", "donkey", 1),
            ("12:00", "cat", 1),
            ("12:00", "dog", 2),
            ("12:00", "donkey", 1),
            ("12:00", "owl", 1),
        },
    ]


# --- Learning Spark, chapter 8

READINGS: Sequence[Sequence[tuple[str, str]]] = [
    [("12:02", "id1"), ("12:03", "id1"), ("12:03", "id2")],
    [("12:07", "id2"), ("12:07", "id3")],
    # Event time 12:04, read ten minutes later.
    [("12:11", "id1"), ("12:04", "id1"), ("12:14", "id2")],
    [("12:15", "id3"), ("12:08", "id2"), ("12:21", "id1")],
    # The watermark is 12:11: nine past is late for five minutes, and not for the ten from 12:05.
    [("12:04", "id4"), ("12:09", "id3"), ("12:17", "id2")],
]


def test_readings_in_tumbling_windows_of_five_minutes(tmp_path: Path, spark: object) -> None:
    readings = Timeline(tmp_path, TUMBLING, "sensor", "update", "10 minutes")
    triggers = [readings.trigger(*events) for events in READINGS]
    assert triggers == [
        {("12:00", "id1", 2), ("12:00", "id2", 1)},
        {("12:05", "id2", 1), ("12:05", "id3", 1)},
        {("12:00", "id1", 3), ("12:10", "id1", 1), ("12:10", "id2", 1)},
        {("12:05", "id2", 2), ("12:15", "id3", 1), ("12:20", "id1", 1)},
        {("12:15", "id2", 1)},
    ]


def test_readings_in_windows_of_ten_minutes_that_overlap(tmp_path: Path, spark: object) -> None:
    readings = Timeline(tmp_path, SLIDING, "sensor", "append", "10 minutes")
    triggers = [readings.trigger(*events) for events in READINGS]
    assert triggers == [
        set(),
        set(),
        set(),
        # By 12:21 the watermark is 12:11, and the windows that end at 12:05 and 12:10 are final.
        {
            ("11:55", "id1", 3),
            ("11:55", "id2", 1),
            ("12:00", "id1", 3),
            ("12:00", "id2", 3),
            ("12:00", "id3", 1),
        },
        set(),
    ]
    # What the window from 12:05 holds may not appear yet; 12:09 came late and is in it.
    assert readings.publish() == triggers[3]
    assert readings.trigger(("12:26", "id1")) == {
        ("12:05", "id1", 1),
        ("12:05", "id2", 3),
        ("12:05", "id3", 2),
    }
