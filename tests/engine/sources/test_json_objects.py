"""An object whose timestamps are read fast is the one that Spark makes of it by its own types."""

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemill.engine.sources.columns import CORRUPT
from tidemill.engine.sources.json_objects import ObjectColumns, with_object
from tidemill.spec.formats.rules import WITH_DATE

SCHEMA = f"id bigint, at timestamp, until timestamp, inner struct<at: timestamp>, {CORRUPT} string"
TIME = '"2026-03-01 05:00:00"'
TEXTS = (
    *(
        f'{{"id": 1, "at": {at}, "until": {TIME}}}'
        for at in (
            TIME,
            '"2026-03-01T05:00:00.123456Z"',
            '"2026-03-01T05:00:00+01:00"',
            '"2026-03-01"',
            '"2026-13-01 05:00:00"',
            '"05:00:00"',
            '""',
            '"2026"',
            "2026",
            "1772341200",
            "1772341200.5",
            "true",
            "null",
            f"[{TIME}]",
            f'{{"a": {TIME}}}',
        )
    ),
    f'{{"id": 2, "until": {TIME}}}',
    f'{{"id": "two", "at": {TIME}, "until": {TIME}}}',
    f'{{"at": {TIME}, "until": 5}}',
    f'{{"id": 3, "at": {TIME}, "inner": {{"at": {TIME}}}}}',
    f'{{"id": 3, "at": {TIME}, "inner": {{"at": "soon"}}}}',
    f'{{"id": 4, "at": {TIME}',
    "{}",
    "[]",
    "4",
    "null",
    "",
)


@pytest.mark.parametrize(
    ("zone", "more"),
    [("UTC", {}), ("America/New_York", {}), ("UTC", {"timeZone": "Asia/Tokyo"})],
)
def test_an_object_is_the_one_that_spark_makes_of_it(
    spark: SparkSession, zone: str, more: dict[str, str]
) -> None:
    spark = spark.newSession()
    spark.conf.set("spark.sql.session.timeZone", zone)
    options = {**WITH_DATE, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT, **more}
    schema = StructType.fromDDL(SCHEMA)
    rows = spark.createDataFrame([(text,) for text in TEXTS], "text string")
    own = rows.select("*", F.from_json("text", schema, options).alias("object"))
    size, names = {"size": F.length("text")}, ObjectColumns("object", "ends")
    found = with_object(rows, F.col("text"), schema, options, names, size, is_utf8=True)
    assert sorted(found.columns) == ["ends", "object", "size", "text"]
    assert found.select(*own.columns).collect() == own.collect()
