"""Every shipped pipeline with state, over its own sample: by `tidemill run`, and as a DAG."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from tests.support.pages import PIPELINES
from tests.support.table_reader import read_rows
from tidemill.cli.app import app
from tidemill.contract.layout import Layout
from tidemill.contract.project import REPOSITORY
from tidemill.reporting.pipeline_status import read_status
from tidemill.samples import (
    activity,
    ad_clicks,
    click_revenue,
    customer_hours,
    devices,
    retail_daily,
    sensors,
    unique_events,
    user_sessions,
    windowed_words,
    word_count,
)
from tidemill_airflow.local.environment import airflow_environment
from tidemill_airflow.operators.processes import end_session

FILES = range(1, 5)
# One task of a group ingests for all members; a single pipeline has its own.
OWN_TASKS = ("doctor", "gate", "publish")
DAG_FILE = """
# Airflow parses files with its name in them.
from tests.support.airflow.shipped_dag_runs import dags

globals().update({{dag.dag_id: dag for dag in dags({names})}})
"""


@dataclass(frozen=True)
class Sample:
    """What a pipeline makes of the first files of its generator, taken in at once.

    The figures were worked out from the files without Spark and without our code.

    Args:
        generator: Writes them.
        rows: Published ones.
        rejected: Rows.
        column: The column of the published table.
        total: What its values add up to; of those that are not numbers, how many there are.
    """

    generator: ModuleType
    rows: int
    rejected: int
    column: str
    total: int | Decimal

    @property
    def folder(self) -> str:
        """Where the pipeline expects them, under the input."""
        return self.generator.__name__.rpartition(".")[2]

    def assert_published(self, root: Path, name: str) -> None:
        """Consumers read what the figures say."""
        layout = Layout(root, name)
        found = [row[self.column] for row in read_rows(layout.table)]
        values = [value for value in found if value is not None]
        numbers = [value for value in values if isinstance(value, int | Decimal)]
        total = sum(numbers) if numbers else len(values)
        rejected = len(read_rows(layout.rejected))
        assert (len(found), rejected, total) == (self.rows, self.rejected, self.total), name


SAMPLES = {
    "word_count": Sample(word_count, 24, 0, "count", 705),
    "windowed_words": Sample(windowed_words, 167, 0, "count", 644),
    "device_signals": Sample(devices, 88, 4, "signal", Decimal("1127.63")),
    "device_totals": Sample(devices, 3, 4, "reports", 236),
    "sensor_windows": Sample(sensors, 47, 0, "readings", 437),
    "sensor_baselines": Sample(sensors, 3, 0, "readings", 240),
    "ad_clicks": Sample(ad_clicks, 48, 0, "clicked_at", 37),
    "ad_clicks_inner": Sample(ad_clicks, 37, 0, "clicked_at", 37),
    "click_revenue": Sample(click_revenue, 120, 0, "price", Decimal("52.62")),
    "unique_events": Sample(unique_events, 160, 0, "id", 160),
    "user_sessions": Sample(user_sessions, 30, 7, "actions", 29),
    "activity": Sample(activity, 320, 6, "index", 51_040),
    "customer_hours": Sample(customer_hours, 18, 0, "actions", 82),
    "retail_daily": Sample(retail_daily, 14, 0, "revenue", Decimal("6534.975")),
}


@pytest.fixture(scope="session")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Where all of them find the first files of their generators."""
    folder = tmp_path_factory.mktemp("input")
    for sample in {sample.folder: sample for sample in SAMPLES.values()}.values():
        for number in FILES:
            sample.generator.write_file(folder / sample.folder, number)
    return {"TIDEMILL_INPUT": str(folder), "TIDEMILL_RETAIL": str(folder / "retail_daily")}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_command_publishes_its_sample(
    name: str,
    environ: Mapping[str, str],
    tmp_path: Path,
    spark: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable, value in {**environ, "TIDEMILL_ROOT": str(tmp_path)}.items():
        monkeypatch.setenv(variable, value)
    ended = CliRunner().invoke(app, ["run", name])
    assert ended.exit_code == 0, ended.output
    SAMPLES[name].assert_published(tmp_path, name)
    assert read_status(Layout(tmp_path, name)).pipeline_class == PIPELINES[name][1]


def test_all_of_them_run_as_dags(
    environ: Mapping[str, str], tmp_path: Path, child_airflow: Path
) -> None:
    root, home, dags = tmp_path / "root", tmp_path / "airflow", tmp_path / "dags"
    for folder in (root, home, dags):
        folder.mkdir()
    (dags / "shipped.py").write_text(DAG_FILE.format(names=[*SAMPLES]))
    variables = airflow_environment(
        home=home, root=root, master="local[2]", environ={**os.environ, **environ}
    )
    variables["AIRFLOW__CORE__DAGS_FOLDER"] = str(dags)
    ended, log = tmp_path / "ended.json", tmp_path / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.airflow.shipped_dag_runs", ended],
            cwd=REPOSITORY,
            env=variables,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            assert process.wait() == 0, log.read_text()[-4000:]
        finally:
            end_session(process.pid)

    runs = json.loads(ended.read_text())
    assert {name: run["state"] for name, run in runs.items()} == {
        "shipped": "success",
        "retail_daily": "success",
    }
    together = SAMPLES.keys() - {"retail_daily"}
    expected = {f"{name}.{task}" for name in together for task in (*OWN_TASKS, "ingested")}
    assert runs["shipped"]["tasks"] == dict.fromkeys({*expected, "doctor", "ingest"}, "success")
    assert runs["retail_daily"]["tasks"] == dict.fromkeys({*OWN_TASKS, "ingest"}, "success")
    for name, sample in SAMPLES.items():
        sample.assert_published(root, name)
