"""An object that is parsed from its bytes is the one that `from_json` makes of its text."""

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemill.engine.sources.columns import CORRUPT
from tidemill.engine.sources.json_objects import ends_with_object
from tidemill.engine.spark_internals.json_of_bytes import JsonOfBytes

SCHEMA = f"""
id bigint, text string, price decimal(20, 2), share double, day date, at timestamp, bytes binary,
inner struct<a: string, b: array<int>>, map map<string, string>, any variant, {CORRUPT} string
"""
TEXTS = [
    b"",
    b" ",
    b"{",
    b"{}",
    b" {}",
    b"{} {}",
    b"[]",
    b'[{"id": 1}]',
    b"null",
    b"7",
    b'"{}"',
    b'{"id": 1} rest',
    b'{"inner": {"a": "b"}} ',
    b'{"inner": {"a": "b"}} {"id": 1}',
    b'{"text": "}"}',
    b'{"id": 1}}',
    b'{"id": 1}],[1',
    b'{"id": 1} ,1',
    b'{"id": 1}\t\r\n',
    b'{"id": 1} // {}',
    b'{"id": 1} \x00',
    b'{"id": 9223372036854775808}',
    b'{"id": 1.0, "share": 1e400}',
    b'{"id": 1, "id": 2}',
    b'{"ID": 1}',
    # As texts, numbers have the digits that Spark writes.
    b'{"text": 1.50, "inner": {"a": 100000000000000000000000.0}}',
    b'{"text": {"b" : [1.10, "\\u00e9"]}, "map": {"x": 0.10, "y": {"z":  1}}}',
    b'{"price": 12345678901234567.891, "share": NaN, "any": {"n": 1.0, "l": [1, null]}}',
    b'{"day": "2026-03-01", "at": "2026-03-01T05:00:00Z", "bytes": "AQI="}',
    b'{"day": "soon", "id": 5}',
    b'{"inner": {"b": [1, "two"]}, "id": 6}',
    b"{'id': 7}",
    b'{"text": "tab\there"}',
    b'{/* why */ "id": 8}',
    '{"text": "Zürich 🌊", "map": {"ключ": "значение"}}'.encode(),
    b'{"text": "\\ud83c\\udf0a \\ud800"}',
    # Not UTF-8: cut short, of no character, too long a form, half a pair.
    b'{"text": "\xc3"}',
    b'{"text": "\xff"}',
    b'{"text": "\xc0\x80"}',
    b'{"text": "\xed\xa0\x80"}',
    # What might be another encoding.
    "\ufeff{}".encode(),
    '{"id": 9}'.encode("utf-16-le"),
    '{"id": 9}'.encode("utf-16-be"),
    '{"id": 9}'.encode("utf-32-le"),
    b"{\x00}",
    b"\x00",
]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"allowSingleQuotes": "false", "allowComments": "true", "allowNonNumericNumbers": "false"},
        {"allowUnquotedControlChars": "true", "primitivesAsString": "true"},
        {"timeZone": "Asia/Tokyo", "dateFormat": "yyyy-MM-dd", "locale": "de"},
    ],
)
def test_an_object_is_the_one_that_spark_makes_of_the_text(
    spark: SparkSession, more: dict[str, str]
) -> None:
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT, **more}
    schema = StructType.fromDDL(SCHEMA)
    texts = spark.createDataFrame([(None,), *((text,) for text in TEXTS)], "bytes binary")
    # A cast leaves the bytes as they are.
    texts = texts.select(F.col("bytes").cast("string").alias("text")).cache()
    for text, is_utf8 in ((F.col("text"), False), (F.make_valid_utf8("text"), True)):
        own = read(texts, F.from_json(text, schema, options))
        json = JsonOfBytes(spark, text, options, is_utf8)
        assert read(texts, json.object_of(schema)) == own
        assert len(own) == len(TEXTS) + 1
        # Where no object is, its end is not asked for.
        found = F.from_json(text, schema, options)
        objects = texts.where(found.isNotNull() & found.getField(CORRUPT).isNull())
        ends = objects.select(json.is_alone(), ends_with_object(text, options)).collect()
        assert [ours for ours, _ in ends] == [sparks for _, sparks in ends]
        assert {ours for ours, _ in ends} == {True, False}


def read(texts: DataFrame, found: Column) -> list[str]:
    """The fields of the objects that are found in texts; NaN is like NaN."""
    rows = texts.select("text", found.alias("found"))
    names = rows.select("found.*").columns
    fields = {name: F.col("found").getField(name) for name in names}
    # Python takes no text that is not UTF-8, and no variant.
    fields |= {name: fields[name].cast("binary") for name in ("text", CORRUPT)}
    fields["any"] = F.to_json(fields["any"])
    columns = [column.alias(name) for name, column in fields.items()]
    return [str(row) for row in rows.select(F.col("found").isNull(), *columns).collect()]
