"""Running aggregations of every kind together, held against plain Python after each run."""

from __future__ import annotations

import statistics
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contract.layout import FIRST_GENERATION
from spark_jobs.contract.pipeline_class import PipelineClass
from spark_jobs.ledger.note import read_note
from tests.e2e.flow import Flow

pytestmark = pytest.mark.jvm

TOGETHER = """
from pyspark.sql import functions as F


def transform(readings):
    return readings.groupBy("sensor").agg(
        F.count("*").alias("readings"),
        F.sum("value").alias("sum"),
        F.avg("value").alias("mean"),
        F.stddev("value").alias("spread"),
        F.approx_count_distinct("code").alias("about_codes"),
        F.sort_array(F.collect_set("code")).alias("codes"),
        F.max_by("code", "at").alias("newest"),
    )
"""
COLUMNS = ("sensor", "readings", "sum", "mean", "spread", "about_codes", "codes", "newest")


def reading(sensor: str, value: str, code: str, minute: int) -> dict[str, Any]:
    at = f"2026-03-01T12:{minute:02d}:00Z"
    return {"sensor": sensor, "value": float(value), "code": code, "at": at}


FILES = (
    [reading("a", "1.50", "E1", 1), reading("a", "2.25", "E2", 9), reading("b", "7", "E1", 2)],
    [reading("a", "-4", "E1", 5)],
    [reading("b", "8.5", "E3", 3), reading("c", "1", "E9", 4), reading("c", "3", "E9", 5)],
)


def expected(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    by_sensor: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_sensor[row["sensor"]].append(row)
    found = []
    for sensor, group in sorted(by_sensor.items()):
        values = [Decimal(str(row["value"])) for row in group]
        codes = sorted({row["code"] for row in group})
        spread = round(statistics.stdev(map(float, values)), 9) if len(values) > 1 else None
        newest = max(group, key=lambda row: row["at"])["code"]
        mean = (sum(values) / len(values)).quantize(Decimal("0.000001"), ROUND_HALF_UP)
        found.append((sensor, len(group), sum(values), mean, spread, len(codes), codes, newest))
    return found


@pytest.mark.parametrize("mode", ["update", "complete"])
def test_several_aggregates_of_one_group_run_together(
    mode: str, tmp_path: Path, spark: object
) -> None:
    flow = Flow(
        tmp_path,
        {"readings": "sensor string, value decimal(8,2), code string, at timestamp"},
        {"output": {"mode": mode, **({"keys": ["sensor"]} if mode == "update" else {})}},
        TOGETHER,
    )
    for number in range(len(FILES)):
        flow.arrive("readings", str(number), FILES[number])
        flow.go(f"run-{number}")
        found = [
            (*row[:4], row[4] if row[4] is None else round(row[4], 9), *row[5:])
            for row in flow.published(*COLUMNS)
        ]
        assert found == expected([row for file in FILES[: number + 1] for row in file])
    note = read_note(flow.layout, FIRST_GENERATION)
    assert note is not None
    assert note.pipeline_class is PipelineClass.UNBOUNDED


UNITED = """
from pyspark.sql import functions as F


def transform(near, far):
    both = near.unionByName(far)
    return both.groupBy(F.window("at", "10 minutes")).count()
"""


@pytest.mark.parametrize(("policy", "counts"), [("min", {}), ("max", {"12:00": 2, "12:10": 1})])
def test_the_slowest_or_the_fastest_source_decides(
    policy: str, counts: dict[str, int], tmp_path: Path, spark: object
) -> None:
    flow = Flow(
        tmp_path,
        dict.fromkeys(("near", "far"), "at timestamp"),
        {
            "event_time": {"column": "at", "watermark": "10 minutes"},
            "multipleWatermarkPolicy": policy,
        },
        UNITED,
    )
    flow.arrive("near", "near", [{"at": f"2026-03-01T{time}:00Z"} for time in ("12:01", "13:00")])
    flow.arrive("far", "far", [{"at": f"2026-03-01T{time}:00Z"} for time in ("12:02", "12:10")])
    flow.go("first")
    closed = {f"{w['start']:%H:%M}": count for w, count in flow.published("window", "count")}
    assert closed == counts
    # Now the slow one has gone on, and both policies agree.
    for source in ("near", "far"):
        flow.arrive(source, f"{source}-2", [{"at": "2026-03-01T14:00:00Z"}])
    flow.go("second")
    closed = {f"{w['start']:%H:%M}": count for w, count in flow.published("window", "count")}
    assert closed == {"12:00": 2, "12:10": 1, "13:00": 1}
