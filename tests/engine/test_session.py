"""The session of a step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.engine.session import session_within
from tidemill.toolchain.spark_conf import session_conf

CODE = """
import json
import sys
from datetime import datetime

from pyspark.sql import functions as F

from tidemill.engine.session import open_session
from tidemill.spec.pipeline import open_pipeline
from tidemill.toolchain import spark_application

session = open_session(open_pipeline("flow"), "test")
hour = F.udf(lambda at: at.hour, "int")
application = spark_application.current()
rows = session.sql("SELECT timestamp'2026-07-01 12:00:00Z' AS at")
seconds = F.unix_seconds(F.lit(datetime(2026, 7, 1, 12)))
times = rows.select(hour("at"), seconds - F.unix_seconds("at")).first()
folder = sys.argv[1]
rows.write.parquet(f"{folder}/in")
reader = session.readStream.schema(rows.schema).name("times")
stream = reader.parquet(f"{folder}/in").groupBy("at").count()
writer = stream.writeStream.outputMode("complete").option("checkpointLocation", f"{folder}/at")
writer.foreachBatch(lambda counts, _: counts.write.mode("append").parquet(f"{folder}/out"))
writer.trigger(availableNow=True).start().awaitTermination()
batches = session.read.parquet(f"{folder}/out").count()
json.dump(
    {
        "times": times,
        "id": application.id,
        "logs": application.logs_events,
        "batches": batches,
        "folder": folder,
    },
    sys.stdout,
)
"""


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of Spark's event log."""
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of programs that note their starts; some come with Spark's event log."""
    folder = tmp_path_factory.mktemp("programs")
    for name in ("chmod", "ls", "readlink", "stat"):
        program = folder / name
        program.write_text(
            f'#!/bin/sh\necho "{name} $*" >> "{folder}/starts"\nexec {which(name)} "$@"\n'
        )
        program.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def told(
    tmp_path_factory: pytest.TempPathFactory, child_jvm: Path, events: Path, programs: Path
) -> dict[str, Any]:
    """What a session said in a process of its own, on a machine in another zone."""
    log = {"spark.eventLog.enabled": True, "spark.eventLog.dir": str(events)}
    flow = JsonPipeline(
        tmp_path_factory.mktemp("flow"),
        {"events": "at timestamp"},
        {"event_time": {"column": "at"}, "timezone": "Europe/London", "spark": {"conf": log}},
        "def transform(events):\n    return events\n",
    )
    path = os.pathsep.join((str(programs), os.environ["PATH"]))
    environ = {**flow.environ, "TZ": "America/New_York", "PATH": path}
    folder = tmp_path_factory.mktemp("folder")
    seen = subprocess.run(
        [sys.executable, "-c", CODE, str(folder)],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(seen.stdout))


def test_python_sees_times_in_utc_whatever_zone_the_machine_is_in(told: dict[str, Any]) -> None:
    assert told["times"] == [12, 0]


def test_a_session_tells_the_application_whose_events_are_logged(
    told: dict[str, Any], events: Path
) -> None:
    assert told["logs"] is True
    assert [told["id"] in entry.name for entry in events.iterdir()] == [True]


def test_a_query_with_state_starts_no_process_for_the_modes_of_its_files(
    told: dict[str, Any], programs: Path
) -> None:
    assert told["batches"] == 1
    starts = (programs / "starts").read_text().splitlines()
    assert [line for line in starts if told["folder"] in line] == []


def test_a_pipeline_of_a_group_has_its_own_settings_whatever_the_application_has(
    spark: SparkSession, tmp_path: Path
) -> None:
    conf = {"spark.sql.files.maxPartitionBytes": "1048576", "spark.sql.ansi.enabled": "true"}
    own = {"timezone": "Asia/Tokyo", "spark": {"conf": conf}}
    flow = JsonPipeline(tmp_path, {"events": "at timestamp"}, own, "transform = None")
    session = session_within(spark, flow.pipeline)
    settings = session_conf(flow.pipeline.spec, root=flow.layout.root)
    free = {key: value for key, value in settings.items() if session.conf.isModifiable(key)}
    assert {key: session.conf.get(key) for key in free} == free
    assert {**conf, "spark.sql.session.timeZone": "Asia/Tokyo"}.items() <= free.items()
