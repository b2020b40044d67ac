"""Running aggregations of every kind together, held against plain Python after each run."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.pipeline_folder import STEPS
from tidemill.contract.errors import ExitCode
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Outcome
from tidemill.ledger.generation_note import read_note
from tidemill.toolchain.ivy import pyspark_jars
from tidemill.toolchain.java import java_home

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
    flow = JsonPipeline(
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


def closed(flow: JsonPipeline) -> dict[str, int]:
    """The published windows by their start."""
    return {f"{w['start']:%H:%M}": count for w, count in flow.published("window", "count")}


@pytest.mark.parametrize(("policy", "counts"), [("min", {}), ("max", {"12:00": 2, "12:10": 1})])
def test_the_slowest_or_the_fastest_source_decides(
    policy: str, counts: dict[str, int], tmp_path: Path, spark: object
) -> None:
    flow = JsonPipeline(
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
    assert closed(flow) == counts
    # Now the slow one has gone on, and both policies agree.
    for source in ("near", "far"):
        flow.arrive(source, f"{source}-2", [{"at": "2026-03-01T14:00:00Z"}])
    flow.go("second")
    assert closed(flow) == {"12:00": 2, "12:10": 1, "13:00": 1}


LONGEST = """
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.expressions.Aggregator;

public class Longest extends Aggregator<String, String, String> {
  public String zero() { return ""; }
  public String reduce(String best, String next) { return merge(best, next); }
  public String merge(String one, String other) {
    if (one.length() != other.length()) return one.length() > other.length() ? one : other;
    return one.compareTo(other) < 0 ? one : other;
  }
  public String finish(String best) { return best; }
  public Encoder<String> bufferEncoder() { return Encoders.STRING(); }
  public Encoder<String> outputEncoder() { return Encoders.STRING(); }
}
"""
BY_INITIAL = """
from pyspark.sql import functions as F


def transform(words):
    session, jvm = words.sparkSession, words.sparkSession._jvm
    text = jvm.org.apache.spark.sql.Encoders.STRING()
    longest = jvm.org.apache.spark.sql.functions.udaf(jvm.Longest(), text)
    session._jsparkSession.udf().register("longest", longest)
    return words.groupBy("initial").agg(F.expr("longest(word)").alias("longest"))
"""


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    """A jar with an Aggregator of a user's own."""
    javac = java_home(os.environ) / "bin" / "javac"
    if not javac.is_file():
        pytest.skip("this Java has no compiler")
    (tmp_path / "Longest.java").write_text(LONGEST)
    spark_jars = f"{pyspark_jars()}/*"
    subprocess.run(
        [javac, "-cp", spark_jars, "-d", tmp_path, tmp_path / "Longest.java"], check=True
    )
    jar = tmp_path / "longest.jar"
    with ZipFile(jar, "w") as archive:
        archive.write(tmp_path / "Longest.class", "Longest.class")
    return jar


def test_an_aggregator_of_the_jvms_keeps_its_state_between_batches(
    tmp_path: Path, jar: Path, child_jvm: Path
) -> None:
    home = tmp_path / "flow"
    flow = JsonPipeline(
        home,
        {"words": "initial string, word string"},
        {
            "output": {"mode": "update", "keys": ["initial"]},
            "spark": {"conf": {"spark.jars": str(jar)}},
        },
        BY_INITIAL,
    )
    flow.arrive("words", "1", [{"initial": "t", "word": "tide"}, {"initial": "m", "word": "mill"}])
    flow.arrive("words", "2", [{"initial": "t", "word": "tidal"}, {"initial": "t", "word": "tea"}])
    ingest = [sys.executable, "-m", "tidemill.main", "ingest", flow.name, "--run-id", "first"]
    done = subprocess.run(ingest, env=flow.environ, check=False, capture_output=True, text=True)
    assert done.returncode == ExitCode.DONE, done.stdout
    for step in STEPS[2:]:
        assert flow.step(step, "first").outcome is Outcome.DONE
    assert flow.published("initial", "longest") == [("m", "mill"), ("t", "tidal")]
