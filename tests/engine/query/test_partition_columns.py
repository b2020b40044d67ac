"""Partition columns have types that survive as the name of a directory."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from tests.support.histories.history_builder import History
from tests.support.spec_text import PATH, minimal, parse
from tidemill.engine.query.partition_columns import (
    PartitionNotOfTime,
    PartitionTypeUnfaithful,
    refuse_unfaithful_types,
    with_partitions,
)

SPEC = parse(minimal("output: {partition_by: {day: to_date(at), k: upper(id)}}\n"))


def columns(kind: DataType) -> StructType:
    return StructType().add("at", TimestampType()).add("day", DateType()).add("k", kind)


@pytest.mark.parametrize(
    "kind",
    [StringType(), DateType(), BooleanType(), ByteType(), ShortType(), IntegerType(), LongType()],
    ids=str,
)
def test_types_that_come_back_as_they_were(kind: DataType) -> None:
    refuse_unfaithful_types(columns(kind), SPEC, PATH)


@pytest.mark.parametrize(
    "kind",
    [TimestampType(), TimestampNTZType(), DecimalType(10, 2), DoubleType(), FloatType()],
    ids=str,
)
def test_types_that_do_not(kind: DataType) -> None:
    with pytest.raises(PartitionTypeUnfaithful) as refused:
        refuse_unfaithful_types(columns(kind), SPEC, PATH)
    assert (refused.value.column, refused.value.type) == ("k", kind.typeName())
    assert refused.value.field == "output.partition_by.k"


def test_a_partition_of_what_the_transform_makes_is_refused(
    spark: SparkSession, history: History
) -> None:
    spec = history.project.spec("orders")
    spec.write_text(spec.read_text().replace("expr(day)", "upper(word)"))
    stream = spark.readStream.format("rate").load().selectExpr("string(value) AS word")
    with pytest.raises(PartitionNotOfTime) as refused:
        with_partitions(stream, history.pipeline)
    assert (refused.value.field, refused.value.column) == ("output.partition_by.day", "value")
