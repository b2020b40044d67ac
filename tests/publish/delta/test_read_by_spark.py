"""Spark reads from both Delta tables what delta-rs reads, with the jars that jars.lock names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, reject, rows
from tests.support.histories.net_history_builder import NetHistory, count
from tidemill.toolchain.jars import jars_of
from tidemill.toolchain.spark_conf import QUICK_START

# A session of its own: Delta's extension is a setting that a running one does not take up.
READ = """
import json, sys
from pyspark.sql import SparkSession

jars, options, *tables = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.jars", jars)
    .config("spark.driver.extraJavaOptions", options)
    .config("spark.sql.shuffle.partitions", "1")
    # Otherwise Delta reads its log with fifty tasks a table.
    .config("spark.databricks.delta.snapshotPartitions", "1")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .getOrCreate()
)
for table in tables:
    rows = spark.read.format("delta").load(table).collect()
    print("ROWS", json.dumps([row.asDict(recursive=True) for row in rows], default=str))
"""


def read_by_spark(java: Path, *tables: Path) -> list[list[dict[str, Any]]]:
    """The rows of some Delta tables, read by one Spark."""
    jars = ",".join(str(jar) for jar in jars_of("delta"))
    # Spark's times are those of the process's zone.
    environ = {**os.environ, "JAVA_HOME": str(java), "TZ": "UTC"}
    done = subprocess.run(
        [sys.executable, "-c", READ, jars, QUICK_START, *map(str, tables)],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line for line in done.stdout.splitlines() if line.startswith("ROWS ")]
    return [json.loads(line.removeprefix("ROWS ")) for line in lines]


def read_by_delta_rs(table: Path) -> list[dict[str, Any]]:
    found = DeltaTable(table).to_pyarrow_table().to_pylist(maps_as_pydicts="strict")
    rows: list[dict[str, Any]] = json.loads(json.dumps(found, default=_plain))
    return rows


def _plain(value: Any) -> str:
    return str(value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value)


def as_multiset(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in rows)


@pytest.fixture
def swapped(tmp_path: Path) -> History:
    """Two increments, of which a day was computed again: a row was rejected and another was not."""
    history = History(tmp_path / "swapped")
    history.increment(rows(1, 3), [reject("2", day="2024-01-01")])
    history.increment(rows(4, day=date(2024, 1, 2)), [reject("5", day="2024-01-02")])
    history.publish()
    made_again(history, rows(1, 2), [reject("3", day="2024-01-01")], partitions=days("2024-01-01"))
    history.publish()
    return history


@pytest.fixture
def updated(tmp_path: Path) -> NetHistory:
    """Two increments, of which the second replaces a row of the first."""
    history = NetHistory(tmp_path / "updated")
    for increment in ([count("open", 1, 3), count("close", 1, 1)], [count("open", 1, 4)]):
        history.increment(increment)
        history.publish()
    return history


def test_spark_reads_both_tables_after_appends_a_swap_and_an_upsert(
    swapped: History, updated: NetHistory, child_jvm: Path
) -> None:
    tables = [swapped.layout.table, swapped.layout.rejected, updated.layout.table]
    read = read_by_spark(child_jvm, *tables)
    assert list(map(as_multiset, read)) == [as_multiset(read_by_delta_rs(one)) for one in tables]
    good, rejected, counts = read
    assert sorted(row["id"] for row in good) == [1, 2, 4]
    assert sorted(row["record"] for row in rejected) == ["3", "5"]
    assert sorted((row["action"], row["count"]) for row in counts) == [("close", 1), ("open", 4)]
