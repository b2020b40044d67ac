"""SIGKILL of the task runner alone leaves its driver running; the retry must find it and end it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.airflow.running_airflow import until
from tests.support.pipelines.orders_pipeline import NAME, OrdersPipeline
from tidemill.contract.report import Outcome
from tidemill.toolchain.java import java_home

# The operator with its real hook, as a task runner calls it; only the metadata database is absent.
RUNNER = f"""
from unittest.mock import MagicMock
from tidemill_airflow.operators.ingest import IngestOperator
operator = IngestOperator(task_id="ingest", pipeline="{NAME}", conn_id="tidemill_spark")
operator.execute({{"run_id": "retried", "ti": MagicMock(), "task_instance": MagicMock()}})
"""


class Census(threading.Thread):
    """Counts the drivers of a pipeline that are alive at the same moment."""

    def __init__(self, mill: OrdersPipeline) -> None:
        super().__init__(daemon=True)
        self._mill = mill
        self._done = threading.Event()
        self.most = 0
        self.seen: set[int] = set()

    def run(self) -> None:
        while not self._done.wait(0.05):
            alive = drivers(self._mill)
            self.seen |= alive
            self.most = max(self.most, len(alive))

    def end(self) -> None:
        self._done.set()
        self.join()


def drivers(mill: OrdersPipeline) -> set[int]:
    """The JVMs of spark-submit that run the pipeline's ingest, by process id."""
    found = set()
    for process in psutil.process_iter():
        try:
            # The JVM forks itself for a moment to run small commands; the driver leads a session.
            # Few do, and whoever does not need not be read.
            if os.getsid(process.pid) != process.pid:
                continue
            submits = "org.apache.spark.deploy.SparkSubmit" in process.cmdline()
            ours = submits and process.environ().get("TIDEMILL_ROOT") == str(mill.root)
        except (psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError):
            continue
        if ours:
            found.add(process.pid)
    return found


def _mode_of(path: Path) -> int:
    """Its permissions; none of a file that went meanwhile."""
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return 0


@pytest.fixture
def runner(mill: OrdersPipeline, child_airflow: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
    for pid in drivers(mill):
        os.kill(pid, signal.SIGKILL)


def start(mill: OrdersPipeline) -> subprocess.Popen[bytes]:
    environ = {
        **mill.environ,
        "AIRFLOW_HOME": str(mill.home / "airflow"),
        "AIRFLOW_CONN_TIDEMILL_SPARK": '{"conn_type": "spark", "host": "local[2]"}',
        "JAVA_HOME": str(java_home(os.environ)),
    }
    return subprocess.Popen(
        [sys.executable, "-c", RUNNER],
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def test_an_immediate_retry_ends_the_driver_that_was_left_and_loses_nothing(
    mill: OrdersPipeline, runner: list[subprocess.Popen[bytes]], spark: object
) -> None:
    mill.deliver_days(range(1, 13))
    commits = mill.checkpoint / "commits"
    census = Census(mill)
    census.start()

    runner.append(start(mill))
    until(lambda: (commits / "1").exists(), "the first driver has committed")
    runner[0].kill()
    runner[0].wait()
    left = drivers(mill)
    (driver,) = map(psutil.Process, left)
    listening = {
        one.laddr.ip for one in driver.net_connections() if one.status == psutil.CONN_LISTEN
    }
    # The driver is alive, and its executors have written data, logs and checkpoint.
    written = set(mill.layout.home.rglob("*"))
    open_to_others = {path for path in written if _mode_of(path) & 0o007}
    runner.append(start(mill))
    assert runner[1].wait(timeout=300) == 0
    census.end()

    assert len(left) == 1
    assert listening
    assert listening <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert {path.suffix for path in written} >= {".parquet", ".crc"}
    assert open_to_others == set()
    assert len(census.seen) == 2
    assert census.most == 1
    assert mill.run("after")["publish"].outcome is Outcome.DONE
    mill.assert_whole()
