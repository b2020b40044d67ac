"""A real driver is killed at a write to an object store; the next one reaches the same rows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.faults.faulty_store import FaultyStore, StoreFault
from tests.servers.s3 import S3
from tests.support.bucket_pipeline import in_bucket
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tests.support.processes import kill_group
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome
from tidemill.ledger.ledger import Ledger

INGEST = """
import sys
from tidemill.main import main
sys.exit(main(sys.argv[1:]))
"""
# The write of a batch at which it is killed; a late one arrives when the next driver is done.
KILLS = [
    ("offsets/{}", StoreFault.KILL_AFTER),
    ("_spark_metadata/{}", StoreFault.LATE),
    ("commits/{}", StoreFault.KILL),
    ("ledger/live-0001/{:06d}", StoreFault.KILL),
]


@pytest.fixture
def proxy(s3: S3) -> Iterator[FaultyStore]:
    with FaultyStore(s3.endpoint).up() as proxy:
        yield proxy


def test_the_next_run_goes_on_wherever_a_driver_was_killed(
    tmp_path: Path,
    s3: S3,
    spark: SparkSession,
    proxy: FaultyStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mill = in_bucket(OrdersPipeline(tmp_path), s3, spark, monkeypatch, proxy.endpoint)
    for batch, (name, fault) in enumerate(KILLS):
        mill.deliver_days(range(batch + 1, batch + 2), rows=3)
        driver = subprocess.Popen(
            [sys.executable, "-c", INGEST, "ingest", mill.name, "--run-id", f"killed-{batch}"],
            env=mill.environ,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            with proxy.armed(1, fault, name.format(batch), -driver.pid):
                said, _ = driver.communicate()
                assert driver.returncode < 0, said
        finally:
            with suppress(ProcessLookupError):
                kill_group(driver)
        (hit,) = proxy.calls()
        reports = mill.run(f"after-{batch}")
        assert [report.outcome for report in reports.values()] == [Outcome.DONE] * 4, (hit, reports)
        proxy.deliver()
        mill.assert_whole()
    batches = Ledger(mill.layout, FIRST_GENERATION).batches()
    read = sorted(file.path for one in batches for file in one.inputs)
    assert read == sorted(str(path) for path in mill.input.iterdir())
