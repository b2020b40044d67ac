"""A driver killed while Spark compacts its logs, or deletes what has expired of them.

Spark compacts every third batch here, keeps few of them, and deletes at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.kills.killed_driver import Kept, Point, assert_gone_on, keep_ingested, leave
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tidemill.contract.report import Outcome
from tidemill.spark_logs.compactible_log import compactible_log
from tidemill.spark_logs.metadata_log import batch_files
from tidemill.toolchain import spark_conf

COMPACTION = 5
# In this batch the logs compact again, and delete what came before batch 5.
NEXT_COMPACTION = 8
LOGS = ("spark.sql.streaming.fileSink.log", "spark.sql.streaming.fileSource.log")


def remember(spark: SparkSession, **settings: str) -> None:
    for log in LOGS:
        for name, value in settings.items():
            spark.conf.set(f"{log}.{name}", value)


@pytest.fixture(scope="module")
def compacted(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """Five batches that are published, and batch 5, which compacts; nothing is deleted yet."""
    remember(spark, compactInterval="3")
    mill = OrdersPipeline(tmp_path_factory.mktemp("compacted"))
    mill.deliver_days(range(1, COMPACTION + 1))
    assert mill.run("before")["publish"].outcome is Outcome.DONE
    mill.deliver_days(range(COMPACTION + 1, COMPACTION + 2))
    kept = keep_ingested(mill)
    remember(spark, cleanupDelay="0")
    yield kept
    for log in LOGS:
        spark.conf.unset(f"{log}.compactInterval")
        spark.conf.unset(f"{log}.cleanupDelay")


def logs(mill: OrdersPipeline) -> tuple[Path, Path]:
    """The log of the sink and that of the source."""
    return mill.sink / "_spark_metadata", mill.checkpoint / "sources" / "orders"


def assert_all_goes_on(mill: OrdersPipeline) -> None:
    """Go on to the next compaction, which deletes; the ledger knows all that Spark forgot."""
    # Spark reads what was listed and not planned in one batch with the next file. A record asks for
    # the offsets of the batch before its own, which may be over before it is looked at: so a run
    # has at most as many batches as are kept.
    for day, kept in ((COMPACTION + 2, 3), (COMPACTION + 4, 2)):
        mill.deliver_days(range(day, day + 2))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(spark_conf, "RETAINED_BATCHES", kept)
            assert_gone_on(mill, f"after-{day}")
    for log in map(compactible_log, logs(mill)):
        assert set(log.compact) == {COMPACTION, NEXT_COMPACTION}
        assert min(log.plain) > COMPACTION
    assert min(batch_files(mill.checkpoint / "offsets")) > COMPACTION


@pytest.mark.parametrize(
    "point",
    [
        Point.WITHIN_SOURCE_LOG,
        Point.AFTER_SOURCE_LOG,
        Point.AFTER_DATA,
        Point.WITHIN_SINK_LOG,
        Point.AFTER_SINK_LOG,
    ],
    ids=lambda point: point.name.lower(),
)
def test_a_kill_in_a_batch_that_compacts_loses_and_doubles_nothing(
    compacted: Kept, point: Point
) -> None:
    mill = compacted.back()
    assert all(COMPACTION in compactible_log(log).compact for log in logs(mill))
    leave(mill, COMPACTION, point)
    assert_all_goes_on(mill)


def test_expired_entries_that_were_deleted_in_part_are_not_missed(compacted: Kept) -> None:
    mill = compacted.back()
    for log in logs(mill):
        (log / "0").unlink()
        # Hadoop deletes an entry before its checksum.
        (log / "1").unlink()
        (log / ".0.crc").unlink()
    for batch in (0, 1):
        (mill.checkpoint / "offsets" / str(batch)).unlink()
    (mill.checkpoint / "commits" / "0").unlink()
    assert_all_goes_on(mill)
