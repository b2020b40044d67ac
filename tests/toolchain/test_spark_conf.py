"""The Spark settings that the promise rests on: a spec adds to them and never changes them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.spec_text import minimal, parse
from tidemill.contract.file_mode import HADOOP_UMASK
from tidemill.toolchain.jars import JarsMissing, all_sets
from tidemill.toolchain.java import java_home
from tidemill.toolchain.spark_conf import (
    DEFAULTS,
    JARS,
    QUICK_START,
    SIMPLE,
    THROUGHPUT,
    driver_java_options,
    engine_conf,
    jar_sets,
    session_conf,
)


def test_dates_are_cut_in_the_specs_time_zone() -> None:
    conf = engine_conf(parse(minimal("timezone: Europe/London\n")))
    assert conf["spark.sql.session.timeZone"] == "Europe/London"


def test_a_table_of_sparks_files_can_be_read_by_delta() -> None:
    assert engine_conf(parse(minimal()))["spark.sql.parquet.outputTimestampType"] == (
        "TIMESTAMP_MICROS"
    )


def test_overflow_and_wrong_casts_are_errors() -> None:
    assert engine_conf(parse(minimal()))["spark.sql.ansi.enabled"] == "true"


def test_shuffle_partitions_are_the_cores() -> None:
    assert engine_conf(parse(minimal()), cores=3)["spark.sql.shuffle.partitions"] == "3"


def test_executors_that_wait_between_two_batches_are_kept() -> None:
    conf = {"spark.dynamicAllocation.enabled": True}
    spec = parse(minimal(f"spark: {{conf: {json.dumps(conf)}}}\n"))
    assert session_conf(spec)["spark.dynamicAllocation.enabled"] == "false"


def test_sparks_logs_outlive_what_one_run_may_commit() -> None:
    kept = engine_conf(parse(minimal()))["spark.sql.streaming.minBatchesToRetain"]
    assert int(kept) >= 1000


def test_a_spec_adds_settings_and_never_changes_the_engines() -> None:
    conf = {"spark.sql.ansi.enabled": False, "spark.executor.memory": "2g", "spark.x": True}
    spec = parse(minimal(f"spark: {{conf: {json.dumps(conf)}}}\n"))
    merged = session_conf(spec)
    assert merged.items() >= engine_conf(spec).items()
    assert {k: v for k, v in merged.items() if k not in engine_conf(spec)} == {
        **HADOOP_UMASK,
        **DEFAULTS,
        "spark.executor.memory": "2g",
        "spark.x": "true",
    }


@pytest.mark.parametrize(
    "name", [*DEFAULTS, "spark.eventLog.enabled", "spark.sql.streaming.metricsEnabled"]
)
def test_what_is_off_for_the_sake_of_short_runs_can_be_switched_on(name: str) -> None:
    conf = json.dumps({name: True})
    assert session_conf(parse(minimal())).get(name, "false") == "false"
    assert session_conf(parse(minimal(f"spark: {{conf: {conf}}}\n")))[name] == "true"


RECORD = '{"type": "record", "name": "r", "fields": [{"name": "id", "type": "string"}]}'
OF_TEXT = "sources: {a: {kind: kafka, subscribe: t, value: {format: text}}}\n"
OF_AVRO = OF_TEXT.replace("format: text", f"format: avro, schema: '{RECORD}'")


@pytest.mark.parametrize(
    ("spec", "sets"),
    [
        (minimal(), ()),
        (minimal(replace={"format: csv": "format: avro"}), ("avro",)),
        (minimal("output: {format: avro}\npublish: [{kind: files}]\n"), ("avro",)),
        (minimal("sink: {kind: kafka, topic: t}\n"), ("kafka",)),
        (minimal("sink: {kind: console}\n"), ()),
        (OF_TEXT, ("kafka",)),
        (OF_AVRO, ("kafka", "avro")),
    ],
)
def test_a_pipeline_asks_for_the_jars_it_needs_and_no_others(
    spec: str, sets: tuple[str, ...]
) -> None:
    assert jar_sets(parse(spec)) == sets


def test_a_pipeline_of_files_runs_without_any_jar(tmp_path: Path) -> None:
    assert JARS not in session_conf(parse(minimal()), {"TIDEMILL_JARS": str(tmp_path)})


def test_jars_that_were_not_fetched_are_missed_before_spark_starts(tmp_path: Path) -> None:
    spec = parse(minimal("sink: {kind: kafka, topic: t}\n"))
    with pytest.raises(JarsMissing) as error:
        session_conf(spec, {"TIDEMILL_JARS": str(tmp_path)})
    assert error.value.sets == ("kafka",)


def test_jars_of_the_spec_stay_beside_ours(tmp_path: Path) -> None:
    for jar in all_sets()["kafka"]:
        (tmp_path / jar.name).touch()
    more = "sink: {kind: kafka, topic: t}\nspark: {conf: {spark.jars: /own.jar}}\n"
    jars = session_conf(parse(minimal(more)), {"TIDEMILL_JARS": str(tmp_path)})[JARS].split(",")
    assert jars[0] == "/own.jar"
    assert {Path(jar).name for jar in jars[1:]} == {jar.name for jar in all_sets()["kafka"]}


@pytest.mark.parametrize("backlog", [0, 100 * 2**20 - 1])
def test_a_small_backlog_starts_quickly(backlog: int) -> None:
    assert driver_java_options(backlog, environ={}) == f"{QUICK_START} {SIMPLE}"


def test_a_quick_start_leaves_room_for_the_compiled_code_of_a_large_group() -> None:
    (size,) = re.findall(r"-XX:ReservedCodeCacheSize=(\d+)m", driver_java_options(0))
    assert int(size) >= 240


@pytest.mark.parametrize("backlog", [None, 100 * 2**20])
def test_a_large_or_unknown_backlog_gets_the_whole_compiler_and_the_fastest_collector(
    backlog: int | None,
) -> None:
    assert driver_java_options(backlog, environ={}) == THROUGHPUT
    assert driver_java_options(backlog, "-Xss2m", {}) == f"{THROUGHPUT} -Xss2m"


@pytest.mark.parametrize(
    ("own", "environ"),
    [("-XX:+UseZGC", {}), ("", {"JAVA_TOOL_OPTIONS": "-XX:+UseG1GC -Xss2m"})],
)
def test_a_collector_that_somebody_chose_is_the_only_one(own: str, environ: dict[str, str]) -> None:
    assert driver_java_options(None, own, environ) == own
    assert driver_java_options(0, own, environ) == f"{QUICK_START} {own}".strip()


def test_a_driver_that_runs_for_days_keeps_the_collector_with_short_pauses() -> None:
    assert driver_java_options(None, environ={}, for_days=True) == ""
    assert driver_java_options(0, environ={}, for_days=True) == QUICK_START


@pytest.mark.jvm
@pytest.mark.parametrize("collector", [SIMPLE, THROUGHPUT])
def test_java_starts_with_the_collector_whatever_the_defaults_of_a_spark_ask_for(
    collector: str,
) -> None:
    java = java_home(os.environ) / "bin/java"
    options = ["-XX:+UseG1GC", *collector.split(), "-version"]
    assert subprocess.run([java, *options], capture_output=True, check=False).returncode == 0
