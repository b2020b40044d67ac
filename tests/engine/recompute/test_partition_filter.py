"""Rows are filtered by the values of their partitions, whatever is in these."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemill.engine.recompute.partition_filter import partition_filter
from tidemill.file_formats.reader import REJECT
from tidemill.journal.partition_set import Partitions
from tidemill.spark_logs.partition_paths import NULL_PARTITION

ODD = ["it's", "back\\slash", "two\nlines", "100%", "'); --", "${spark.app.name}", "né"]
REJECT_TYPE = "struct<partition: map<string, string>, file: string>"


@pytest.mark.parametrize("columns", [("place",), ("place", "number")])
def test_each_text_is_taken_as_it_is(spark: SparkSession, columns: tuple[str, ...]) -> None:
    rows = spark.createDataFrame(
        [(place, number) for number, place in enumerate([*ODD, "other"])],
        "place string, number int",
    ).withColumn(REJECT, F.lit(None).cast(REJECT_TYPE))
    values = tuple((place, str(number))[: len(columns)] for number, place in enumerate(ODD))
    keep = partition_filter(Partitions(columns=columns, values=values))
    assert [row.place for row in keep(rows).collect()] == ODD


def test_null_is_a_partition_and_a_rejected_row_is_in_the_one_that_it_would_have_had(
    spark: SparkSession,
) -> None:
    rows = spark.createDataFrame(
        [
            (None, None),
            ("a", None),
            ("b", None),
            (None, ({"place": "a"}, "1.json")),
            (None, ({"place": "b"}, "2.json")),
            (None, ({"place": ""}, "3.json")),
            (None, ({"place": ""}, "4.json")),
        ],
        f"place string, {REJECT} {REJECT_TYPE}",
    )
    named = Partitions(columns=("place",), values=(("a",), (NULL_PARTITION,)))
    kept = partition_filter(named, ["3.json"])(rows).collect()
    assert [(row.place, row[REJECT] and row[REJECT].file) for row in kept] == [
        (None, None),
        ("a", None),
        (None, "1.json"),
        (None, "3.json"),
    ]
