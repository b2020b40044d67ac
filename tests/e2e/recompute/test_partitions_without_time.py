"""Partitions other than times, such as a state or the file's name, are computed again by value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.recompute_requests import ask, days
from tidemill.contract.report import Outcome
from tidemill.increments.snapshot import Snapshot

TRANSFORM = """
from pyspark.sql import functions as F


def transform(flights):
    return flights.withColumn("n", F.col("n") * {factor}).withColumn(
        "file", F.col("_metadata.file_name")
    )
"""
SELECT = """
SELECT year, part, n * {factor} AS n, _metadata.file_name AS file, _metadata.file_path AS path
FROM flights
"""
YEAR = "cast(regexp_extract(_metadata.file_name, '([0-9]{4})', 1) as int)"
SPEC: dict[str, Any] = {
    "output": {"partition_by": {"year": YEAR, "part": "state"}},
    "row_rules": {"small": "n < 10"},
    "gate": {"rejected": {"hold_above": 0.9}},
}


@pytest.fixture
def flow(tmp_path: Path, spark: object) -> JsonPipeline:
    flow = JsonPipeline(
        tmp_path, {"flights": "state string, n int"}, SPEC, TRANSFORM.format(factor=1)
    )
    flow.arrive("flights", "y2012", [{"state": "CA", "n": 1}, {"state": "NY", "n": 20}])
    flow.arrive("flights", "y2013", [{"state": "CA", "n": 3}])
    flow.go("run-1")
    return flow


def rows(flow: JsonPipeline) -> list[tuple[Any, ...]]:
    return flow.published("year", "part", "n", "file")


def test_they_are_replayed_backfilled_and_rebuilt_by_value(flow: JsonPipeline) -> None:
    first = (2012, "CA", 1, "y2012.json")
    assert rows(flow) == [first, (2013, "CA", 3, "y2013.json")]
    # Rules are loosened: only the partition of the rejected row is computed again.
    flow.write(row_rules={"small": "n < 100"})
    assert ask(flow, "backfill", "replay", rejected=True)["publish"].outcome is Outcome.DONE
    loosened = (2012, "NY", 20, "y2012.json")
    assert rows(flow) == [first, loosened, (2013, "CA", 3, "y2013.json")]
    swap = Snapshot(flow.layout).events[-1].recomputation
    assert swap is not None
    assert swap.partitions is not None
    assert swap.partitions.values == (("2012", "NY"),)
    # Other code, for one partition of two.
    flow.write(TRANSFORM.format(factor=10))
    asked = ask(flow, "backfill", "named", partitions=({"year": "2013", "part": "CA"},))
    assert asked["publish"].outcome is Outcome.DONE
    assert rows(flow) == [first, loosened, (2013, "CA", 30, "y2013.json")]
    # An interval tells nothing here.
    refused = ask(flow, "backfill", "interval", **days(1, 3))["ingest"].error
    assert refused is not None
    assert (refused["code"], "--partition" in refused["remedy"]) == ("IntervalUncut", True)
    assert ask(flow, "rebuild", "rebuild")["publish"].outcome is Outcome.DONE
    assert rows(flow) == [
        (2012, "CA", 10, "y2012.json"),
        (2012, "NY", 200, "y2012.json"),
        (2013, "CA", 30, "y2013.json"),
    ]


def test_the_time_of_a_files_change_is_no_column(tmp_path: Path, spark: object) -> None:
    changed = "to_date(_metadata.file_modification_time)"
    flow = JsonPipeline(
        tmp_path,
        {"flights": "state string, n int"},
        {**SPEC, "output": {"partition_by": {"day": changed}}},
        TRANSFORM.format(factor=1),
    )
    flow.arrive("flights", "y2012", [{"state": "CA", "n": 1}])
    refused = flow.run("run-1")["ingest"].error
    assert refused is not None
    assert (refused["code"], refused["transient"]) == ("ExpressionRefused", False)
    assert "file_modification_time" in refused["what"]


def test_in_sql_an_archived_file_keeps_its_name_when_it_is_read_again(
    tmp_path: Path, spark: object
) -> None:
    archive = tmp_path / "put away"
    cleaned = {"cleanSource": "archive", "sourceArchiveDir": str(archive)}
    spec = {**SPEC, "sources": {"flights": cleaned}, "transform": "by_file"}
    flow = JsonPipeline(tmp_path, {"flights": "state string, n int"}, spec, "")
    code = flow.pipeline.transform_file.with_name("by_file.sql")
    code.write_text(SELECT.format(factor=1))
    arrived = flow.arrive("flights", "y2012", [{"state": "CA", "n": 1}])
    flow.go("run-1")
    assert ([*archive.rglob("*.json")], arrived.exists()) == ([archive / str(arrived)[1:]], False)
    (path,) = flow.published("path")[0]
    assert path.endswith(str(arrived))
    code.write_text(SELECT.format(factor=2))
    again = ask(flow, "backfill", "again", partitions=({"year": "2012", "part": "CA"},))
    assert again["publish"].outcome is Outcome.DONE
    (row,) = flow.published("year", "part", "n", "file", "path")
    assert row == (2012, "CA", 2, "y2012.json", path)
