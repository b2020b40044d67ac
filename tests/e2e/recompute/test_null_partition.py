"""Rows whose partition value is null are published, where the spec says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from deltalake import DeltaTable

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.recompute_requests import ask
from tests.support.table_reader import read_rows
from tidemill.contract.report import Outcome
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.published_files import files_now
from tidemill.ledger.run_request import partition_named
from tidemill.spark_logs.partition_paths import NULL_PARTITION

TRANSFORM = """
from pyspark.sql import functions as F


def transform(flights):
    return flights.withColumn("n", F.col("n") * {factor})
"""
KEEP = {"partition_by": {"year": "y", "part": "state"}, "null_partition": "keep"}
SPEC: dict[str, Any] = {
    "output": KEEP,
    "row_rules": {"small": "n < 10"},
    "gate": {"rejected": {"hold_above": 0.9}},
    "publish": [{"kind": "delta"}, {"kind": "files"}],
}
SCHEMA = {"flights": "y int, state string, n int"}
NOWHERE = {"year": NULL_PARTITION, "part": NULL_PARTITION}


@pytest.fixture
def flow(tmp_path: Path, spark: object) -> JsonPipeline:
    flow = JsonPipeline(tmp_path, SCHEMA, SPEC, TRANSFORM.format(factor=1))
    rows = [
        {"y": 2012, "state": "CA", "n": 1},
        {"y": None, "state": "CA", "n": 2},
        {"y": 2012, "state": "", "n": 3},
        {"n": 4},
        {"n": 20},
        {"y": "many", "state": "NY", "n": 6},
    ]
    flow.arrive("flights", "a", rows)
    assert flow.go("run-1") is not None
    return flow


def rows(flow: JsonPipeline) -> list[tuple[Any, ...]]:
    return sorted(flow.published("n", "year", "part"), key=lambda row: row[0])


def rejected(flow: JsonPipeline) -> list[tuple[str, dict[str, Any]]]:
    found = read_rows(flow.layout.rejected)
    return sorted((one["reason"], dict(one["partition"])) for one in found)


def test_they_are_read_rejected_and_computed_again_like_others(flow: JsonPipeline) -> None:
    published = [(1, 2012, "CA"), (2, None, "CA"), (3, 2012, None), (4, None, None)]
    assert rows(flow) == published
    assert rejected(flow) == [
        ("malformed", {"year": None, "part": None}),
        ("rule small", NOWHERE),
    ]
    files = DeltaTable(flow.layout.table).file_uris()
    polars = pl.scan_delta(str(flow.layout.table)).select("n", "year", "part").sort("n").collect()
    hive = duckdb.read_parquet(files, hive_partitioning=True).order("n")
    assert polars.rows() == published
    assert hive.project("n, year, part").fetchall() == published
    (missing,) = DeltaTable(flow.layout.table).to_pandas().query("n == 4").to_dict("records")
    assert {name for name, value in missing.items() if value != value or value is None} >= {
        "year",
        "part",
    }
    # A looser rule: the rejected row's partition is that of the nulls.
    flow.write(row_rules={"small": "n < 100"})
    assert ask(flow, "backfill", "replay", rejected=True)["publish"].outcome is Outcome.DONE
    swap = Snapshot(flow.layout).events[-1].recomputation
    assert swap is not None
    assert swap.partitions is not None
    assert swap.partitions.values == ((NULL_PARTITION, NULL_PARTITION),)
    assert rows(flow) == [*published, (20, None, None)]
    assert [reason for reason, _ in rejected(flow)] == ["malformed"]
    # Other code for the nulls of one column.
    flow.write(TRANSFORM.format(factor=10))
    named = partition_named(f"year=2012/part={NULL_PARTITION}")
    dry = ask(flow, "backfill", "dry", partitions=(named,), dry_run=True)["ingest"]
    assert {name: dry.facts["dry_run"][name] for name in ("added", "removed")} == {
        "added": 1,
        "removed": 1,
    }
    assert ask(flow, "backfill", "named", partitions=(named,))["publish"].outcome is Outcome.DONE
    assert rows(flow) == [
        (1, 2012, "CA"),
        (2, None, "CA"),
        (4, None, None),
        (20, None, None),
        (30, 2012, None),
    ]
    listed = files_now(flow.layout)
    assert sum(file.rows for file in listed) == 5
    assert {"year": None, "part": None} in [file.partition for file in listed]
    # The setting is as fixed as the partitions.
    flow.write(output={**KEEP, "null_partition": "reject"})
    refused = flow.run("changed")["doctor"].error
    assert refused is not None
    assert (refused["code"], "tidemill rebuild" in refused["remedy"]) == ("IntervalsChanged", True)
