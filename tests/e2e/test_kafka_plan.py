"""The plan of a Kafka pipeline: one pass over the records, each value parsed once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.servers.kafka import Broker
from tests.support.pipelines.kafka_pipeline import KafkaPipeline
from tidemill.engine.query.build import plan_rows
from tidemill.engine.sources.kafka import read_batch
from tidemill.spec.sources.kafka import KafkaSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PICKY = """
from pyspark.sql import functions as F

def transform(orders):
    few = orders.where("quantity > 1").withColumn("twice", F.col("quantity") * 2)
    return few.where(F.col("twice") < 12)
"""


@pytest.mark.parametrize("transform", ["def transform(orders):\n    return orders\n", PICKY])
def test_each_record_is_read_and_parsed_once(
    tmp_path: Path, broker: Broker, spark: SparkSession, transform: str
) -> None:
    mill = KafkaPipeline(tmp_path, broker, transform=transform, partitions=1)
    mill.produce_orders(0, 20)
    mill.produce(["malformed"])
    pipeline = mill.pipeline
    source = pipeline.spec.sources["orders"]
    assert isinstance(source, KafkaSource)
    records = read_batch(spark, source, {}, {mill.topic: {0: 21}}, mill.environ)
    rows = plan_rows({"orders": records}, pipeline).rows
    plan = str(rows._jdf.queryExecution().optimizedPlan().toString())
    assert plan.count("KafkaRelation") == 1
    # By its own types only where a time has no usual form.
    assert plan.count("json.parse(") == 2
    # What it generates it generates row by row, without code of its own.
    assert plan.count("Generate ") == 1
    assert len(re.findall(r"CASE WHEN _tidemill_others#\d+ THEN invoke\(json.parse", plan)) == 1
    rejected = [row["_reject"]["record"] for row in rows.collect() if row["_reject"]]
    assert rejected == ["malformed"]
