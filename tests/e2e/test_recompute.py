"""Rows that are computed again over what was read: whole partitions, or batches."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from spark_jobs.contract.layout import FIRST_GENERATION
from spark_jobs.ledger.batches import Ledger
from spark_jobs.ledger.made import Made
from spark_jobs.ledger.note import hash_of_file, hash_of_spec
from tests.e2e.flow import Flow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.engine.recompute import Recomputed

pytestmark = pytest.mark.jvm

SPEC: dict[str, Any] = {
    "event_time": {"column": "at"},
    "row_rules": {"a_word": "word IS NOT NULL"},
    "output": {"partition_by": {"day": "to_date(at)"}},
    "gate": {"rejected": {"hold_above": 1}},
}
ROWS = """
from pyspark.sql import functions as F

def transform(events):
    return events.withColumn("length", F.length("word"))
"""


def flow_of(home: Path, **changes: Any) -> Flow:
    return Flow(home, {"events": "word string, at timestamp"}, {**SPEC, **changes}, ROWS)


def day(number: int) -> datetime:
    return datetime(2026, 3, number, tzinfo=UTC)


def made(flow: Flow, partitions: Any, **changes: Any) -> Made:
    batches = Ledger(flow.layout, FIRST_GENERATION).batches()
    known: dict[str, Any] = {
        "by_way_of": "backfill",
        "generation": FIRST_GENERATION,
        "first": 0,
        "last": batches[-1].batch,
        "seq": 0,
        "partitions": partitions,
        "code_hash": hash_of_file(flow.pipeline.transform_file),
        "spec_hash": hash_of_spec(flow.pipeline.spec),
        "by": "ada",
        "reason": "test",
    }
    return Made(**{**known, **changes})


def backfill(
    flow: Flow, spark: SparkSession, start: datetime, end: datetime, **changes: Any
) -> Recomputed:
    from spark_jobs.engine.intervals import extent_of
    from spark_jobs.engine.recompute import recompute

    extent = extent_of(spark, flow.pipeline, start, end)
    asked = made(flow, extent.partitions, **changes)
    return recompute(spark, flow.pipeline, asked, extent, "again", 0, lambda _: None)


def rows_of(flow: Flow, found: Recomputed, *columns: str) -> list[tuple[Any, ...]]:
    """The good rows that were computed, with their partitions, sorted."""
    ledger = Ledger(flow.layout, found.place.generation)
    (batch,) = ledger.batches(found.place.first, found.place.last)
    rows: list[tuple[Any, ...]] = []
    for file in batch.outputs:
        if not file.rejected:
            table = pq.ParquetFile(ledger.sink / file.path).read()
            for row in table.to_pylist():
                full = {**row, **file.partition}
                rows.append(tuple(full[name] for name in columns))
    return sorted(rows, key=repr)


def test_unchanged_code_gives_the_published_rows_and_changed_code_its_own(
    tmp_path: Path, spark: SparkSession
) -> None:
    flow = flow_of(tmp_path)
    for number in (1, 2, 3):
        words = ["tide", "mill", None] if number == 2 else ["x" * number]
        flow.arrive(
            "events",
            f"day-{number}",
            [{"word": word, "at": f"2026-03-0{number}T10:00:00Z"} for word in words],
        )
    flow.go("first")
    found = backfill(flow, spark, day(2), day(3))
    assert rows_of(flow, found, "word", "length", "day") == [
        ("mill", 4, "2026-03-02"),
        ("tide", 4, "2026-03-02"),
    ]
    assert (found.rows, found.rejected, found.inputs, found.input_rows) == (2, 1, 3, 5)
