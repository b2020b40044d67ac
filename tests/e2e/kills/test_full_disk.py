"""The disk is full while Spark writes a batch: said by name, nothing committed, healed by space."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.faults.library import FULL_DISK, NoCompiler, preloading
from tests.support.pipelines.orders_pipeline import NAME, OrdersPipeline
from tidemill.contract import report as reports
from tidemill.contract.report import Outcome


def ingest_on_full_disk(mill: OrdersPipeline, folder: Path) -> reports.Report:
    """An ingest in a process of its own, for which there is no space left below a folder."""
    try:
        library = preloading(FULL_DISK)
    except NoCompiler as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))
    environ = {**mill.environ, **library, "FULL_DISK": str(folder)}
    command = [sys.executable, "-m", "tidemill.main", "ingest", NAME, "--run-id", "full"]
    ended = subprocess.run(command, env=environ, capture_output=True, check=False)
    assert ended.returncode != 0
    report = reports.read(mill.layout.run("full"), "ingest")
    assert report is not None
    return report


# After a first plan that was cut short Spark by itself would refuse every later run.
@pytest.mark.parametrize("folder", ["table/_live-0001", "checkpoints/live-0001/offsets"])
def test_a_full_disk_is_named_and_the_next_run_goes_on(
    spark: SparkSession, mill: OrdersPipeline, folder: str
) -> None:
    mill.deliver_days(range(1, 3))

    report = ingest_on_full_disk(mill, mill.layout.home / folder)

    assert report.outcome is Outcome.FAILED
    assert report.error is not None
    assert (report.error["code"], report.error["transient"]) == ("DiskFull", True)
    assert not list((mill.checkpoint / "commits").glob("[0-9]*"))
    assert not list((mill.sink / "_spark_metadata").glob("[0-9]*"))

    assert mill.run("after")["publish"].outcome is Outcome.DONE
    mill.assert_whole()
