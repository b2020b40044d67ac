"""Joins of streams: refused where Spark drops rows before their match comes, and only there."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.support.random_joins import RandomJoin, random_join, write_input
from tidemill.engine.query.join_times import (
    JoinBoundInexact,
    JoinTimeUnwatermarked,
    refuse_early_drops,
)

PATH = Path("transform.py")
IDLE_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"
JOINS = 8


@pytest.fixture(scope="module")
def feed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("feed")
    write_input(folder, random.Random(1))
    return folder


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """A session in which a batch comes only with input."""
    session = spark.newSession()
    session.conf.set(IDLE_BATCHES, "false")
    return session


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("then BETWEEN due AND due + INTERVAL 1 HOUR", ["due"]),
        ("then >= at AND then <= due + INTERVAL 1 HOUR", ["due"]),
        ("of BETWEEN at AND at + INTERVAL 1 HOUR", ["of"]),
        ("at = of", ["of"]),
        ("due = then", ["due"]),
        ("at = of AND then BETWEEN at AND at + INTERVAL 1 HOUR", ["of"]),
    ],
)
def test_a_join_by_a_time_without_a_watermark_is_refused(
    session: SparkSession, feed: Path, condition: str, columns: list[str]
) -> None:
    with pytest.raises(JoinTimeUnwatermarked) as error:
        refuse_early_drops(RandomJoin(condition).frame(session, feed, stream=True), PATH)
    assert error.value.columns == columns


@pytest.mark.parametrize(
    "condition",
    [
        "then BETWEEN at AND at + INTERVAL 1 HOUR",
        "at = then",
        "k > 0",
        "due >= of",
        # What bounds the column with the watermark suffices, whatever else is asked.
        "then BETWEEN due AND due + INTERVAL 1 HOUR AND then <= at + INTERVAL 7 DAYS",
        "at = of AND then <= at",
        "at = then AND of BETWEEN due AND due + INTERVAL 1 HOUR",
    ],
)
def test_a_join_that_spark_computes_right_is_let_through(
    session: SparkSession, feed: Path, condition: str
) -> None:
    refuse_early_drops(RandomJoin(condition).frame(session, feed, stream=True), PATH)


@pytest.mark.parametrize(
    ("condition", "zone"),
    [
        ("then <= at + INTERVAL 7 DAYS", "Europe/Berlin"),
        ("then <= at + INTERVAL 24 HOURS", "Europe/Berlin"),
        ("then <= at + make_interval(0, 0, 0, 1)", "Europe/Berlin"),
        ("CAST(then AS LONG) - CAST(at AS LONG) <= 60", "UTC"),
    ],
)
def test_a_join_whose_bound_spark_computes_otherwise_is_refused(
    session: SparkSession, feed: Path, condition: str, zone: str
) -> None:
    session.conf.set("spark.sql.session.timeZone", zone)
    with pytest.raises(JoinBoundInexact):
        refuse_early_drops(RandomJoin(condition).frame(session, feed, stream=True), PATH)


@pytest.mark.parametrize(
    ("condition", "zone"),
    [
        ("then <= at + INTERVAL 7 DAYS", "UTC"),
        ("then <= at + INTERVAL 23 HOURS", "Europe/Berlin"),
        ("CAST(then AS DOUBLE) - CAST(at AS DOUBLE) <= 7 * 86400", "Europe/Berlin"),
        ("then <= at + make_interval(0, 0, 0, 0, 7 * 24)", "Europe/Berlin"),
    ],
)
def test_a_join_whose_bound_is_exact_in_its_zone_is_let_through(
    session: SparkSession, feed: Path, condition: str, zone: str
) -> None:
    session.conf.set("spark.sql.session.timeZone", zone)
    refuse_early_drops(RandomJoin(condition).frame(session, feed, stream=True), PATH)


@pytest.mark.parametrize("condition", ["at = of", "then BETWEEN due AND due + INTERVAL 1 HOUR"])
def test_without_watermarks_nothing_is_dropped_and_nothing_refused(
    session: SparkSession, feed: Path, condition: str
) -> None:
    join = RandomJoin(condition, watermarks=(False, False))
    refuse_early_drops(join.frame(session, feed, stream=True), PATH)


def test_a_third_stream_is_joined_by_the_time_by_which_spark_drops(
    session: SparkSession, feed: Path
) -> None:
    def side(key: str, time: str) -> DataFrame:
        rows = session.readStream.schema(f"{key} int, {time} timestamp").json(str(feed / "left"))
        return rows.withWatermark(time, "10 minutes")

    shown, clicked, bought = side("a", "s"), side("b", "c"), side("d", "t")
    pairs = shown.join(clicked, F.expr("a = b AND c BETWEEN s AND s + INTERVAL 2 HOURS"))
    late = pairs.join(bought, F.expr("a = d AND t BETWEEN c AND c + INTERVAL 1 HOUR"))
    with pytest.raises(JoinTimeUnwatermarked) as error:
        refuse_early_drops(late, PATH)
    assert error.value.dropped_by == "s"
    bound = F.expr("a = d AND t BETWEEN c AND c + INTERVAL 1 HOUR AND t <= s + INTERVAL 3 HOURS")
    refuse_early_drops(pairs.join(bought, bound), PATH)


def test_random_joins_that_are_let_through_give_in_batches_what_one_batch_gives(
    session: SparkSession, feed: Path, tmp_path: Path
) -> None:
    chance, compared = random.Random(18), 0
    while compared < JOINS:
        join = random_join(chance)
        rows = join.frame(session, feed, stream=True)
        try:
            refuse_early_drops(rows, PATH)
        except (JoinTimeUnwatermarked, JoinBoundInexact):
            continue
        if (found := join.in_batches(session, feed, tmp_path / str(compared))) is None:
            continue
        assert found == join.at_once(session, feed), join
        compared += 1
