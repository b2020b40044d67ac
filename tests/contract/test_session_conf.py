"""The Spark settings that the promise rests on: a spec adds to them and never changes them."""

from __future__ import annotations

import json

import pytest

from spark_jobs.contract.session_conf import driver_java_options, engine_conf, session_conf
from tests.specs import minimal, parse


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


def test_sparks_logs_outlive_what_one_run_may_commit() -> None:
    kept = engine_conf(parse(minimal()))["spark.sql.streaming.minBatchesToRetain"]
    assert int(kept) >= 1000


def test_a_spec_adds_settings_and_never_changes_the_engines() -> None:
    conf = {"spark.sql.ansi.enabled": False, "spark.executor.memory": "2g", "spark.x": True}
    spec = parse(minimal(f"spark: {{conf: {json.dumps(conf)}}}\n"))
    merged = session_conf(spec)
    assert merged.items() >= engine_conf(spec).items()
    assert {k: v for k, v in merged.items() if k not in engine_conf(spec)} == {
        "spark.executor.memory": "2g",
        "spark.x": "true",
    }


@pytest.mark.parametrize("backlog", [0, 100 * 2**20 - 1])
def test_a_small_backlog_starts_quickly(backlog: int) -> None:
    assert "TieredStopAtLevel=1" in driver_java_options(backlog)


@pytest.mark.parametrize("backlog", [None, 100 * 2**20])
def test_a_large_or_unknown_backlog_gets_the_whole_compiler(backlog: int | None) -> None:
    assert driver_java_options(backlog) == ""
