"""Every cell of the matrix of joins, row by row of tests/matrix.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.support.pipelines.matrix_models import StreamJoin, static_join
from tests.support.pipelines.matrix_queries import (
    MATRIX,
    Played,
    Streams,
    as_multiset,
    assert_as_told,
    label,
    rows_of,
)
from tidemill.engine.query.pipeline_class import class_of
from tidemill.spec.output import OutputMode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CELL = ("left", "right", "how", "watermark", "bound")
TYPES = ("inner", "left_outer", "right_outer", "full_outer", "left_semi", "left_anti")
SIDES = {"left": 1, "right": 2}
WITHIN = " AND then BETWEEN at AND at + INTERVAL 1 HOUR"


@pytest.fixture(scope="module")
def streams(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Streams:
    return Streams(spark, tmp_path_factory.mktemp("streams"))


@pytest.fixture(scope="module")
def played(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Every join that runs, as a branch of one query."""
    streams = Streams(spark, tmp_path_factory.mktemp("played"))
    streams.deliver_feed()
    rows = [row for row in MATRIX["joins"] if row["says"] == "run"]
    return streams.play({label(row): joined(row, streams) for row in rows}, "append")


def side(row: dict[str, Any], which: str, streams: Streams) -> DataFrame:
    """One side of the join that a row of the matrix speaks of."""
    if row[which] == "static":
        return streams.static().select({"left": "id", "right": F.col("id").alias("other")}[which])
    under = row.get("watermark", "none") in (which, "both")
    frame = streams.rows("at" if under else None).where(f"n & {SIDES[which]} > 0")
    times = "w" if row.get("bound") == "window" else "at"
    if times == "w":
        frame = frame.select("id", F.window("at", "1 hour").alias("w"))
    names = ("id", times) if which == "left" else ("other", {"w": "v", "at": "then"}[times])
    return frame.select("id", times).toDF(*names)


def joined(row: dict[str, Any], streams: Streams) -> DataFrame:
    """The join; of two static tables with a stream."""
    bounds = {"range": WITHIN, "window": " AND w = v"}
    condition = F.expr("id = other" + bounds.get(row.get("bound", "none"), ""))
    rows = side(row, "left", streams).join(side(row, "right", streams), condition, row["how"])
    if row["left"] == row["right"] == "static":
        return streams.rows(None).select("id").join(rows.select("id"), "id")
    return rows


@rows_of("joins")
def test_a_join_is_taken_or_refused(row: dict[str, Any], streams: Streams) -> None:
    rows = joined(row, streams)
    assert_as_told(row, rows, streams)
    if row["says"] == "run":
        assert class_of(rows, OutputMode.APPEND) == row["class"]


@rows_of("joins", says="run")
def test_a_join_gives_out_the_rows_of_its_type(row: dict[str, Any], played: Played) -> None:
    shown = played.rows[label(row)]
    if "static" in (row["left"], row["right"]):
        assert as_multiset(shown) == as_multiset(static_join(row["left"], row["right"], row["how"]))
        return
    model = StreamJoin(row["how"], row["bound"], row["watermark"])
    assert as_multiset(shown) == as_multiset(model.rows())
    full, kept = model.state()
    states = played.state[label(row)]
    assert (states[1], states[-1]) == (full, kept)
    assert kept < full or row["class"] == "unbounded"


def test_no_cell_is_missing() -> None:
    cells = {tuple(row.get(name) for name in CELL) for row in MATRIX["joins"]}
    assert len(cells) == len(MATRIX["joins"]) == 3 * len(TYPES) + len(TYPES) * 4 * 3
