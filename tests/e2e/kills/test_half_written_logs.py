"""A driver killed within or between Spark's log entries: the next run loses and doubles nothing.

The states are made of a whole run's files. Where a state cannot be made so, see `test_kills` and
`test_mode_kills`, a driver is really killed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.kills.killed_driver import Kept, Point, assert_gone_on, keep_ingested, leave
from tests.support.pipelines.door_events import Actions
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tidemill.contract.report import Outcome


def at_points(*points: Point) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("point", points, ids=lambda point: point.name.lower())


@pytest.fixture(scope="module")
def appending(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Two batches that are published, and batch 2, which is ingested."""
    mill = OrdersPipeline(tmp_path_factory.mktemp("appending"))
    mill.deliver_days(range(1, 3))
    assert mill.run("before")["publish"].outcome is Outcome.DONE
    mill.deliver_days(range(3, 4))
    return keep_ingested(mill)


@pytest.fixture(scope="module")
def updating(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """The same of a pipeline that counts, and keeps its counts in Spark's state."""
    mill = Actions(tmp_path_factory.mktemp("updating"))
    mill.arrive_hours(0, 1)
    assert mill.run("before")["publish"].outcome is Outcome.DONE
    mill.arrive_hours(2)
    return keep_ingested(mill)


@at_points(*Point)
def test_a_kill_in_a_later_batch_loses_and_doubles_nothing(appending: Kept, point: Point) -> None:
    mill = appending.back()
    leave(mill, 2, point)
    mill.deliver_days(range(4, 5))
    assert_gone_on(mill)


# Its batches have a manifest in the place of Spark's sink log: see `test_mode_kills`.
@at_points(Point.AFTER_SOURCE_LOG, Point.WITHIN_OFFSETS, Point.AFTER_OFFSETS, Point.WITHIN_COMMIT)
def test_a_kill_in_a_later_batch_of_counts_counts_nothing_twice(
    updating: Kept, point: Point
) -> None:
    mill = updating.back()
    assert isinstance(mill, Actions)
    leave(mill, 2, point)
    mill.arrive_hours(3)
    assert_gone_on(mill)


@at_points(Point.WITHIN_SOURCE_LOG, Point.AFTER_SOURCE_LOG)
def test_a_kill_before_the_first_batch_was_planned_loses_nothing(
    spark: SparkSession, tmp_path: Path, point: Point
) -> None:
    mill = OrdersPipeline(tmp_path)
    mill.deliver_days(range(1, 2))
    keep_ingested(mill)
    leave(mill, 0, point)
    mill.deliver_days(range(2, 3))
    assert_gone_on(mill)
