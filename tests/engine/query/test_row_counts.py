"""A batch whose rows Spark has counted more than once is written down without their number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.contract.report import Outcome

ROWS = 30
BY_RANGE = "def transform(events):\n    return events.repartitionByRange(2, 'n')\n"
# The first row of the second stage takes away what the first stage has written.
LOST = """
from pathlib import Path

from pyspark.sql import functions as F

def transform(events):
    def lose(n):
        if not Path({met!r}).exists():
            Path({met!r}).touch()
            for file in Path({blocks!r}).rglob("shuffle_*"):
                file.unlink()
        return n

    {rows}
"""
TOTALS = "return events.groupBy('k').agg(F.udf(lose, 'int')(F.max('n')).alias('n'))"
# More partitions than run at once: those that wait find nothing.
UPDATE = {"output": {"mode": "update", "keys": ["k"]}, "state": {"shuffle_partitions": 6}}
AS_THEY_ARE = "return events.repartition(8, 'n').withColumn('n', F.udf(lose, 'int')('n'))"


def blocks(spark: SparkSession) -> str:
    jvm: Any = spark._jvm
    manager = jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager()
    return str(manager.localDirs()[0].getPath())


def batch_of(home: Path, transform: str, **spec: Any) -> tuple[int, int | None]:
    """The rows of a batch, and how many it has read as the ledger says."""
    columns = {"events": "at timestamp, k int, n int"}
    flow = JsonPipeline(home / "flow", columns, {"event_time": {"column": "at"}, **spec}, transform)
    time = "2026-03-01T00:00:00Z"
    flow.arrive("events", "one", [{"at": time, "k": n % 7, "n": n} for n in range(ROWS)])
    assert flow.step("doctor", "run").outcome is Outcome.DONE
    assert flow.step("ingest", "run").outcome is Outcome.DONE
    (batch,) = flow.batches
    return batch.rows, batch.rows_in


def test_rows_that_are_sampled_to_be_arranged_by_range(tmp_path: Path, spark: SparkSession) -> None:
    assert batch_of(tmp_path, BY_RANGE) == (ROWS, None)


@pytest.mark.parametrize(
    ("rows", "spec", "expected"),
    [
        (AS_THEY_ARE, {}, ROWS),
        (TOTALS, UPDATE, 7),
    ],
    ids=["append", "update"],
)
def test_rows_of_a_stage_whose_output_was_lost(
    tmp_path: Path, spark: SparkSession, rows: str, spec: dict[str, Any], expected: int
) -> None:
    met = str(tmp_path / "met")
    transform = LOST.format(met=met, blocks=blocks(spark), rows=rows)
    assert batch_of(tmp_path, transform, **spec) == (expected, None)
    assert Path(met).exists()
