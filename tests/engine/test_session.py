"""The session of a step."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline

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
json.dump({"times": times, "id": application.id, "logs": application.logs_events}, sys.stdout)
"""


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of Spark's event log."""
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, child_jvm: Path, events: Path) -> dict[str, Any]:
    """What a session said in a process of its own, on a machine in another zone."""
    log = {"spark.eventLog.enabled": True, "spark.eventLog.dir": str(events)}
    flow = JsonPipeline(
        tmp_path_factory.mktemp("flow"),
        {"events": "at timestamp"},
        {"event_time": {"column": "at"}, "timezone": "Europe/London", "spark": {"conf": log}},
        "def transform(events):\n    return events\n",
    )
    environ = {**flow.environ, "TZ": "America/New_York"}
    seen = subprocess.run(
        [sys.executable, "-c", CODE], env=environ, capture_output=True, text=True, check=True
    )
    return dict(json.loads(seen.stdout))


def test_python_sees_times_in_utc_whatever_zone_the_machine_is_in(told: dict[str, Any]) -> None:
    assert told["times"] == [12, 0]


def test_a_session_tells_the_application_whose_events_are_logged(
    told: dict[str, Any], events: Path
) -> None:
    assert told["logs"] is True
    assert [told["id"] in entry.name for entry in events.iterdir()] == [True]
