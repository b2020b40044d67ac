"""Every cell of the matrix of joins, row by row of tests/matrix.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.support.pipelines.matrix_queries import MATRIX, Streams, assert_as_told, rows_of
from tidemill.engine.query.pipeline_class import class_of
from tidemill.spec.output import OutputMode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CELL = ("left", "right", "how", "watermark", "bound")
TYPES = ("inner", "left_outer", "right_outer", "full_outer", "left_semi", "left_anti")
WITHIN = " AND then BETWEEN at AND at + INTERVAL 1 HOUR"


@pytest.fixture(scope="module")
def streams(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Streams:
    return Streams(spark, tmp_path_factory.mktemp("streams"))


def side(row: dict[str, Any], which: str, streams: Streams) -> DataFrame:
    """One side of the join that a row of the matrix speaks of."""
    if row[which] == "static":
        frame = streams.static()
    else:
        under = row.get("watermark", "none") in (which, "both")
        frame = streams.rows("at" if under else None)
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
        return streams.rows().join(rows.select(F.coalesce("id").alias("id")), "id")
    return rows


@rows_of("joins")
def test_a_join(row: dict[str, Any], streams: Streams) -> None:
    rows = joined(row, streams)
    assert_as_told(row, rows, streams)
    if row["says"] == "run":
        assert class_of(rows, OutputMode.APPEND) == row["class"]


def test_no_cell_is_missing() -> None:
    cells = {tuple(row.get(name) for name in CELL) for row in MATRIX["joins"]}
    assert len(cells) == len(MATRIX["joins"]) == 3 * len(TYPES) + len(TYPES) * 4 * 3
