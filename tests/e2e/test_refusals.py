"""Transforms that cannot be repeated, or that need state, are refused before a query starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tidemill.engine.query.refusals import (
    TransformNotRepeatable,
    refuse_unrepeatable,
)
from tidemill.engine.query.reject import good, tag
from tidemill.engine.session import open_session
from tidemill.engine.sources.kinds import read_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def orders(mill: OrdersPipeline, spark: SparkSession) -> DataFrame:
    spec = mill.pipeline.spec
    # The session of the tests, with the settings of the engine.
    session = open_session(mill.pipeline, "ingest")
    tagged = tag(read_stream(session, mill.pipeline, "orders"), spec, "orders")
    return good(tagged, spec, "orders")


def test_randomness_and_clocks_are_refused(mill: OrdersPipeline, orders: DataFrame) -> None:
    found = {}
    for name, column in {
        "rand": F.rand(),
        "uuid": F.expr("uuid()"),
        "now": F.current_timestamp(),
        "today": F.current_date(),
        "deep": F.when(F.col("quantity") > 1, F.concat("id", F.rand().cast("string"))),
    }.items():
        with pytest.raises(TransformNotRepeatable) as refused:
            refuse_unrepeatable(orders.withColumn("x", column), mill.pipeline.transform_file)
        found[name] = refused.value.expression
    assert found == {
        "rand": "rand",
        "uuid": "uuid",
        "now": "current_timestamp",
        "today": "current_date",
        "deep": "rand",
    }


def test_row_by_row_work_and_static_joins_are_not(
    mill: OrdersPipeline, orders: DataFrame, spark: SparkSession
) -> None:
    names = spark.createDataFrame([("a", "first"), ("a", "again")], "id string, note string")
    for fine in (
        orders.where("quantity > 1").withColumn("double", F.col("quantity") * 2),
        orders.join(names.groupBy("id").count(), "id", "left"),
        orders.withColumn("name", F.udf(lambda text: text + "!")("id")),
    ):
        refuse_unrepeatable(fine, mill.pipeline.transform_file)
