"""Whole runs on a root in an object store: the same tables as on a disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.servers.s3 import PASSWORD, S3
from tests.support.bucket_pipeline import in_bucket
from tests.support.kills.killed_driver import Point, leave
from tests.support.pipelines.door_events import Actions
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tests.support.pipelines.recompute_requests import ask, days
from tests.support.pipelines.sales_pipeline import TRANSFORM, sales
from tests.support.pipelines.windowed_words import at, windows
from tests.support.recording_java import RecordingJava
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome, Report, Step
from tidemill.ledger.ledger import Ledger

INGEST = """
import sys
from tidemill.main import main
sys.exit(main(sys.argv[1:]))
"""
# Half of a log's entry cannot be in an object store: an object is whole, or not there.
POINTS = [point for point in Point if point.name.startswith("AFTER")]


def assert_done(reports: dict[Step, Report]) -> None:
    found = {step: (report.outcome, report.error) for step, report in reports.items()}
    assert found == dict.fromkeys(("doctor", "ingest", "gate", "publish"), (Outcome.DONE, None))


def test_a_driver_that_is_killed_at_any_point_of_a_batch_loses_and_doubles_nothing(
    tmp_path: Path, s3: S3, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill = in_bucket(OrdersPipeline(tmp_path), s3, spark, monkeypatch)
    mill.deliver_days(range(1, 3), rows=3)
    assert_done(mill.run("first"))
    mill.assert_whole()
    for batch, point in enumerate(POINTS, 2):
        mill.deliver_days(range(batch + 1, batch + 2), rows=3)
        for step in ("doctor", "ingest"):
            assert mill.step(step, f"killed-{batch}").outcome is Outcome.DONE
        leave(mill, batch, point)
        assert_done(mill.run(f"after-{batch}"))
    mill.assert_whole()
    batches = Ledger(mill.layout, FIRST_GENERATION).batches()
    read = sorted(file.path for batch in batches for file in batch.inputs)
    assert read == sorted(str(path) for path in mill.input.iterdir())
    # Nothing of the root is on a disk.
    assert not (tmp_path / "root" / "orders").exists()


def test_mode_update_replaces_rows_after_each_run_and_a_kill(
    tmp_path: Path, s3: S3, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill = in_bucket(Actions(tmp_path), s3, spark, monkeypatch)
    mill.arrive_hours(0, 1)
    assert_done(mill.run("first"))
    mill.assert_whole()
    mill.arrive_hours(2)
    for step in ("doctor", "ingest"):
        assert mill.step(step, "killed").outcome is Outcome.DONE
    leave(mill, 2, Point.AFTER_SINK_LOG)
    assert_done(mill.run("second"))
    mill.assert_whole()
    # The manifest was there, so that nothing was written again.
    assert len(mill.attempts(2)) == 1


def test_windows_go_on_from_their_state_as_on_a_disk(
    tmp_path: Path, s3: S3, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def feed(name: str, *, bucket: bool) -> JsonPipeline:
        home = tmp_path / name
        home.mkdir()
        words = windows(home)
        if bucket:
            in_bucket(words, s3, spark, monkeypatch)
        for run, times in enumerate((("10:01", "10:02"), ("10:14", "10:35"), ("11:00",))):
            for number, time in enumerate(times):
                words.arrive("events", f"{run}-{number}", [at(time), at("10:01")])
            words.go(f"run-{run}")
        return words

    disk, bucket = feed("disk", bucket=False), feed("bucket", bucket=True)
    assert bucket.published()
    assert bucket.published() == disk.published()


def test_a_backfill_swaps_the_partitions_that_it_computed(
    tmp_path: Path, s3: S3, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "bucket").mkdir()
    disk = sales(tmp_path / "disk")
    first = disk.published()
    disk.write(TRANSFORM.format(factor=2))
    assert_done(ask(disk, "backfill", "again", **days(2, 3)))
    bucket = JsonPipeline(
        tmp_path / "bucket",
        disk.sources,
        disk.spec,
        TRANSFORM.format(factor=1),
        suite=disk.suite,
    )
    in_bucket(bucket, s3, spark, monkeypatch)
    for file in sorted(disk.folder("sales").iterdir()):
        bucket.arrive_text("sales", file.stem, file.read_text().splitlines())
    bucket.go("first")
    assert bucket.published() == first
    bucket.write(TRANSFORM.format(factor=2))
    assert_done(ask(bucket, "backfill", "again", **days(2, 3)))
    assert bucket.published() == disk.published()


def test_the_login_of_the_bucket_is_on_no_command_line_and_in_no_log_or_document(
    tmp_path: Path,
    s3: S3,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    child_jvm: Path,
) -> None:
    mill = OrdersPipeline(tmp_path)
    events = tmp_path / "events"
    events.mkdir()
    conf = {
        "spark.eventLog.enabled": True,
        "spark.eventLog.compress": False,
        "spark.eventLog.dir": events.as_uri(),
    }
    mill = OrdersPipeline(tmp_path, {**mill.spec, "spark": {"conf": conf}})
    in_bucket(mill, s3, spark, monkeypatch)
    mill.deliver_days(range(1, 2), rows=3)
    java_home = tmp_path / "java"
    java_home.mkdir()
    java = RecordingJava(java_home)
    done = subprocess.run(
        [sys.executable, "-c", INGEST, "ingest", mill.name, "--run-id", "first"],
        env=java.first_in(mill.environ),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    logs = [path.read_text() for path in events.rglob("*") if path.is_file()]
    assert any(f"fs.s3a.bucket.{mill.root.bucket}.secret.key" in text for text in logs)
    documents = [path.read_text() for path in mill.layout.home.rglob("*.json")]
    assert len(documents) > 1
    for text in (*logs, *documents, java.arguments(), done.stdout, done.stderr):
        assert PASSWORD not in text
