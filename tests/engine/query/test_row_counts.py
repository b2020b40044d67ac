"""A batch whose rows Spark has counted more than once is written down without their number."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.contract.errors import ExitCode
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
                file.unlink(missing_ok=True)
        return n

    {rows}
"""
TOTALS = "return events.groupBy('k').agg(F.udf(lose, 'int')(F.max('n')).alias('n'))"
# More partitions than run at once: those that wait find nothing.
UPDATE = {"output": {"mode": "update", "keys": ["k"]}, "state": {"shuffle_partitions": 6}}
AS_THEY_ARE = "return events.repartition(8, 'n').withColumn('n', F.udf(lose, 'int')('n'))"


def read_by_doctor(home: Path, transform: str, **spec: Any) -> JsonPipeline:
    """A pipeline with a file of rows that its doctor has seen."""
    columns = {"events": "at timestamp, k int, n int"}
    flow = JsonPipeline(home / "flow", columns, {"event_time": {"column": "at"}, **spec}, transform)
    time = "2026-03-01T00:00:00Z"
    flow.arrive("events", "one", [{"at": time, "k": n % 7, "n": n} for n in range(ROWS)])
    assert flow.step("doctor", "run").outcome is Outcome.DONE
    return flow


def counts(flow: JsonPipeline) -> tuple[int, int | None]:
    """The rows of the only batch, and how many it has read as the ledger says."""
    (batch,) = flow.batches
    return batch.rows, batch.rows_in


@pytest.mark.usefixtures("spark")
def test_rows_that_are_sampled_to_be_arranged_by_range(tmp_path: Path) -> None:
    flow = read_by_doctor(tmp_path, BY_RANGE)
    assert flow.step("ingest", "run").outcome is Outcome.DONE
    assert counts(flow) == (ROWS, None)


@pytest.mark.parametrize(
    ("rows", "spec", "expected"),
    [
        (AS_THEY_ARE, {}, ROWS),
        (TOTALS, UPDATE, 7),
    ],
    ids=["append", "update"],
)
@pytest.mark.usefixtures("child_jvm")
def test_rows_of_a_stage_whose_output_was_lost(
    tmp_path: Path, rows: str, spec: dict[str, Any], expected: int
) -> None:
    met, blocks = tmp_path / "met", tmp_path / "blocks"
    transform = LOST.format(met=str(met), blocks=str(blocks), rows=rows)
    flow = read_by_doctor(tmp_path, transform, **spec)
    # A local driver that has lost a shuffle file never finds a large result again.
    ingest = [sys.executable, "-m", "tidemill.main", "ingest", flow.name, "--run-id", "run"]
    environ = {**flow.environ, "SPARK_LOCAL_DIRS": str(blocks)}
    done = subprocess.run(ingest, env=environ, check=False, capture_output=True, text=True)
    assert done.returncode == ExitCode.DONE, done.stdout + done.stderr
    assert counts(flow) == (expected, None)
    assert met.exists()
