"""The session of a step."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline

CODE = """
import json
import sys
from datetime import datetime

from pyspark.sql import functions as F

from tidemill.engine.session import open_session
from tidemill.spec.pipeline import open_pipeline

session = open_session(open_pipeline("flow"), "test")
hour = F.udf(lambda at: at.hour, "int")
rows = session.sql("SELECT timestamp'2026-07-01 12:00:00Z' AS at")
seconds = F.unix_seconds(F.lit(datetime(2026, 7, 1, 12)))
json.dump(rows.select(hour("at"), seconds - F.unix_seconds("at")).first(), sys.stdout)
"""


@pytest.mark.usefixtures("child_jvm")
def test_python_sees_times_in_utc_whatever_zone_the_machine_is_in(tmp_path: Path) -> None:
    flow = JsonPipeline(
        tmp_path,
        {"events": "at timestamp"},
        {"event_time": {"column": "at"}, "timezone": "Europe/London"},
        "def transform(events):\n    return events\n",
    )
    environ = {**flow.environ, "TZ": "America/New_York"}
    seen = subprocess.run(
        [sys.executable, "-c", CODE], env=environ, capture_output=True, text=True, check=True
    )
    assert json.loads(seen.stdout) == [12, 0]
