"""Both engines give the same verdict wherever `equivalence.py` says so.

On Spark, results are those of Great Expectations alone.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.support import expectation_cases
from tests.support.gx_alone import GxAlone
from tests.support.parquet_sink import expect, sample_of, spark_schema, suite_of, write_file
from tidemill.gate.engine_choice import Engine
from tidemill.gate.equivalence import EQUIVALENT, obstacle
from tidemill.gate.in_process import InProcess
from tidemill.gate.judge import judge
from tidemill.gate.sample import Rows, Sample
from tidemill.gate.suite import Suite
from tidemill.increments.judgement import CheckBroke

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = list(expectation_cases.expectations())
# A thousand jobs of twelve rows: compiling each of them is what takes the time.
QUICK_FOR_FEW_ROWS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
# One plan of hundreds of aggregates takes Spark longer to compile than many small ones.
TOGETHER = 40

Result = dict[str, Any]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """One of its own: the settings of the shared one go with each test."""
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", expectation_cases.ZONE)
    return own


@pytest.fixture(scope="module")
def on_spark(session: SparkSession) -> Engine:
    from tidemill.gate.on_spark import OnSpark

    return OnSpark(session)


@contextmanager
def _settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    before = {name: str(spark.conf.get(name)) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    sink = tmp_path_factory.mktemp("matrix") / "_live-0001"
    rows = pa.table(expectation_cases.ROWS_OF)
    halves = (rows.slice(0, 7), rows.slice(7))
    files = tuple(
        write_file(half, sink, expectation_cases.PARTITION, f"part-{number}")
        for number, half in enumerate(halves)
    )
    return Sample(files, spark_schema(expectation_cases.TYPES), expectation_cases.ZONE)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return suite_of(tmp_path_factory.mktemp("suite"), *CASES)


@pytest.fixture(scope="module")
def verdicts(
    sample: Sample, suite: Suite, on_spark: Engine, session: SparkSession
) -> Mapping[str, list[Result]]:
    """What each engine says of every case, and what Great Expectations does by itself."""
    in_process = InProcess()
    said = {"in_process": _say(sample, in_process.read(sample, sample.files), suite, in_process)}
    with _settings(session, QUICK_FOR_FEW_ROWS):
        rows = on_spark.read(sample, sample.files)
        # One task a job and a short plan.
        rows = dataclasses.replace(rows, frame=rows.frame.coalesce(1).localCheckpoint())
        for name, engine in (("spark", on_spark), ("alone", GxAlone(session))):
            said[name] = _say(sample, rows, suite, engine)
    return said


def _parts(suite: Suite) -> Iterator[Suite]:
    every = suite.expectations
    for start in range(0, len(every), TOGETHER):
        yield dataclasses.replace(suite, expectations=every[start : start + TOGETHER])


def _say(sample: Sample, rows: Rows, suite: Suite, engine: Engine) -> list[Result]:
    from tidemill.gate.validation import run

    return [
        result.to_json_dict()
        for part in _parts(suite)
        for result in run(sample, {"increment": rows}, part, engine, samples=3)
    ]


def _raised(result: Result) -> bool:
    info = result["exception_info"]
    return bool(info) and not {"raised_exception": False}.items() <= info.items()


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda n: f"{n}-{CASES[n]['type']}")
def test_both_engines_give_the_same_verdict(
    verdicts: Mapping[str, list[Result]], suite: Suite, sample: Sample, case: int
) -> None:
    assert obstacle(suite.expectations[case], sample.parsed) is None
    ours, sparks = verdicts["in_process"][case], verdicts["spark"][case]
    said = (CASES[case], ours, sparks)
    assert not _raised(ours), said
    assert not _raised(sparks), said
    assert ours["success"] is sparks["success"], said
    mine, their = ours["result"], sparks["result"]
    # Without rows, pandas counts 0 and Spark gives no count.
    assert (mine.get("unexpected_count") or 0) == (their.get("unexpected_count") or 0), said
    percents = [one.get("unexpected_percent") or 0 for one in (mine, their)]
    assert math.isclose(*percents), said
    observed = [one.get("observed_value") for one in (mine, their)]
    if all(isinstance(one, int | float) for one in observed):
        assert math.isclose(*observed), said


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda n: f"{n}-{CASES[n]['type']}")
def test_one_scan_gives_what_great_expectations_gives(
    verdicts: Mapping[str, list[Result]], case: int
) -> None:
    ours, alone = verdicts["spark"][case], verdicts["alone"][case]
    seen = ("success", "result", "exception_info")
    assert [ours[name] for name in seen] == [alone[name] for name in seen], CASES[case]


def test_every_proven_expectation_passes_somewhere_and_fails_somewhere(
    verdicts: Mapping[str, list[Result]],
) -> None:
    seen = Counter(
        (case["type"], said["success"]) for case, said in zip(CASES, verdicts["spark"], strict=True)
    )
    assert {kind for kind, _ in seen} == set(EQUIVALENT)
    assert [kind for kind in EQUIVALENT if not seen[kind, True] or not seen[kind, False]] == []


def test_both_engines_find_nothing_in_an_empty_increment(tmp_path: Path, on_spark: Engine) -> None:
    sample = sample_of({"id": pa.array([], pa.int64())}, tmp_path)
    suite = suite_of(tmp_path, expect("column_values_to_not_be_null", column="id"))
    for engine in (InProcess(), on_spark):
        found = judge(
            sample, suite, engine, run_name="r", docs=tmp_path, results=tmp_path, samples=1
        )
        assert (found.success, found.reason, found.engine) == (False, "empty", engine.name)


def test_a_missing_column_breaks_the_check_on_both_engines(
    tmp_path: Path, sample: Sample, on_spark: Engine
) -> None:
    suite = suite_of(
        tmp_path,
        expect("column_values_to_not_be_null", column="id"),
        expect("column_max_to_be_between", column="gone", max_value=1),
    )
    for engine in (InProcess(), on_spark):
        with pytest.raises(CheckBroke) as broke:
            judge(sample, suite, engine, run_name="r", docs=tmp_path, results=tmp_path, samples=1)
        assert broke.value.broken == ("expect_column_max_to_be_between(gone)",)


def test_both_engines_judge_the_same_rows_alike_from_files_to_docs(
    tmp_path: Path, sample: Sample, on_spark: Engine
) -> None:
    older = write_file(
        pa.table(expectation_cases.ROWS_OF),
        tmp_path / "_backfill 1",
        expectation_cases.PARTITION,
        "published",
    )
    wider = dataclasses.replace(sample, extra_files=(older,))
    suite = suite_of(
        tmp_path,
        expect("column_values_to_be_unique", column="code"),
        expect("column_values_to_be_unique", column="code", meta={"scope": "table"}),
        expect("column_values_to_match_regex", column="name", regex="^SO", severity="warning"),
    )
    docs = tmp_path / "docs"
    found = [
        judge(wider, suite, engine, run_name=engine.name, docs=docs, results=docs, samples=2)
        for engine in (InProcess(), on_spark)
    ]
    # Which of the failing values they show is theirs to choose.
    beside = {"engine": True, "docs": True, "result": True, "outcomes": {"__all__": {"samples"}}}
    left, right = (one.model_dump(exclude=beside) for one in found)
    assert left == right
    assert [o.success for o in found[0].outcomes] == [True, False, False]
    assert (found[0].rows, found[0].table_rows) == (
        expectation_cases.ROWS,
        2 * expectation_cases.ROWS,
    )
    assert all(one.docs and one.docs.is_file() for one in found)


def test_partition_values_that_spark_escapes_are_judged_as_they_were(
    tmp_path: Path, on_spark: Engine
) -> None:
    value, hour = "a:b%c/d=é #?", "2026-07-01 13:00:00"
    schema = spark_schema({"id": "long", "region": "string", "hour": "timestamp"})
    folder = {"region": "a%3Ab%25c%2Fd%3Dé %23%3F", "hour": "2026-07-01 13%3A00%3A00"}
    file = write_file(pa.table({"id": [1]}), tmp_path / "_live-0001", folder)
    file = dataclasses.replace(file, partition={"region": value, "hour": hour})
    sample = Sample((file,), schema, expectation_cases.ZONE)
    noon = {"min_value": "2026-07-01T12:00:00Z", "max_value": "2026-07-01T12:00:00Z"}
    suite = suite_of(
        tmp_path,
        expect("column_values_to_be_in_set", column="region", value_set=[value]),
        expect("column_values_to_be_between", column="hour", **noon),
    )
    for engine in (InProcess(), on_spark):
        found = judge(
            sample, suite, engine, run_name="r", docs=tmp_path, results=tmp_path, samples=9
        )
        assert found.success, (engine.name, json.loads(found.model_dump_json()))
