"""What Spark makes of rows that would break a parser: they are rejected, or the file is named."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemill.engine.sources.file import CORRUPT, read_batch
from tidemill.engine.spark_errors import FileUnreadable, OutOfMemory, from_spark
from tidemill.spec.sources.file import FileSource

# Limits of Jackson, as Spark 4.2 sets it up: levels, and about as many letters in a string.
DEEPEST, LONGEST = 1_000, 21_000_000


def source(format: str, **options: Any) -> FileSource:
    given = {"format": format, "path": "/in", "schema": "a string, b int", "options": options}
    return FileSource.model_validate(given)


@pytest.mark.parametrize(
    "value",
    ["[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), '"' + "x" * (LONGEST + 1) + '"'],
    ids=["deep", "long"],
)
def test_json_beyond_the_parsers_limits_is_a_rejected_row_and_the_next_one_is_read(
    spark: SparkSession, tmp_path: Path, value: str
) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'{{"a": {value}, "b": 1}}\n{{"a": "x", "b": 2}}\n')
    rows = read_batch(spark, source("json"), [str(path)])
    read = rows.cache().select("b", F.length(CORRUPT)).collect()
    assert [row[1] is not None for row in read] == [True, False]
    assert read[1].b == 2


@pytest.mark.parametrize(
    ("line", "options"),
    [("x," * 25_000, {}), ("x" * 2_000, {"maxCharsPerColumn": 1_000})],
    ids=["columns", "letters"],
)
def test_csv_beyond_the_parsers_limits_fails_by_the_name_of_the_file(
    spark: SparkSession, tmp_path: Path, line: str, options: dict[str, Any]
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"a,b\n{line},1\nx,2\n")
    rows = read_batch(spark, source("csv", **options), [str(path)])
    with pytest.raises((PySparkException, Py4JJavaError)) as refused:
        rows.select("a", "b", CORRUPT).cache().collect()
    error = from_spark(refused.value)
    assert isinstance(error, FileUnreadable)
    assert error.file == str(path)


def test_spark_does_not_see_a_file_whose_name_is_no_utf8(
    spark: SparkSession, tmp_path: Path
) -> None:
    for name in (b"fine.csv", b"bad\xff.csv"):
        (tmp_path / os.fsdecode(name)).write_text("a,b\nx,1\n")
    rows = read_batch(spark, source("csv"), [str(tmp_path)])
    assert [Path(path).name for path in rows.inputFiles()] == ["fine.csv"]
    assert rows.count() == 1


def test_a_row_that_the_heap_cannot_hold_is_named_for_what_it_is() -> None:
    said = "Job aborted: java.lang.OutOfMemoryError: Java heap space at org.apache.hadoop.io.Text"
    assert isinstance(from_spark(PySparkException(said)), OutOfMemory)
