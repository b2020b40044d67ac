"""Files in a sink's folder that its query never committed are not read, and are counted."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import SparkSession

from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome
from tidemill.ledger.orphans import Orphans, read_orphans
from tidemill.reporting.pipeline_status import read_status


def data_files(sink: Path) -> set[Path]:
    return set(sink.glob("**/part-*.parquet"))


def test_what_a_batch_job_appends_to_a_sink_is_neither_judged_nor_published(
    spark: SparkSession, mill: OrdersPipeline
) -> None:
    mill.deliver_days(range(1, 3))
    assert mill.run("before")["publish"].outcome is Outcome.DONE
    ours = data_files(mill.sink)
    one = next(path for path in sorted(ours) if "day=2026" in str(path))

    # Whole rows in a partition of ours, and one that a task wrote which ran twice.
    rows = spark.read.parquet(str(one)).selectExpr("*", "date'2026-03-01' AS day")
    rows.write.mode("append").partitionBy("day").parquet(str(mill.sink))
    shutil.copy(one, one.with_name(one.name.replace("part-", "part-9")))
    foreign = data_files(mill.sink) - ours
    mill.deliver_days(range(3, 4))

    assert mill.run("after")["publish"].outcome is Outcome.DONE

    assert len(foreign) >= 2
    assert foreign < data_files(mill.sink)
    mill.assert_whole()
    good, bad = mill.expected()
    sealed = read_status(mill.layout).increments
    assert sum(one.rows for one in sealed) == good.total()
    assert sum(one.rejected for one in sealed) == bad.total()
    assert read_orphans(mill.layout, FIRST_GENERATION) == Orphans(
        files=len(foreign), bytes=sum(path.stat().st_size for path in foreign)
    )
