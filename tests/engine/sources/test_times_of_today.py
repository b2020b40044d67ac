"""No value comes from the clock: a time without a date is malformed, however it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemill.engine.query.refusals import TransformNotRepeatable, refuse_unrepeatable
from tidemill.engine.sources.file import CORRUPT, read_batch
from tidemill.engine.sources.kafka_value import parse
from tidemill.spec.sources.file import FileSource
from tidemill.spec.sources.kafka_value import KafkaValue

DATED = (
    "2026-03-01 05:00:00",
    "2026-03-01T05:00:00",
    "2026-03-01 05:00:00.5",
    "2026-03-01 05:00:00+01:00",
    "2026-03-01T05:00:00.123456Z",
    "2026-03-01T05:00:00+01:00",
    "2026-03-01 05:00:00 Europe/Berlin",
    "2026-03-01T05:00:00+0100",
    "2026-3-1 5:0",
    "2026-03-01",
    "2026-03",
)
UNDATED = ("12:34:56", "T12:34", "1:2", "T1", "12:34:56.5Z", "now", "today")
NO_SUCH_TIME = (
    "2026-13-01 05:00:00",
    "2026-02-30T05:00:00",
    "2026-03-01 25:00:00",
    "2026-03-01T5Q",
)
MALFORMED = (*UNDATED, *NO_SUCH_TIME)
SCHEMA = "text string, at timestamp"


def lines(format: str) -> list[str]:
    texts = (*DATED, *MALFORMED)
    return [f"{t},{t}" if format == "csv" else json.dumps({"text": t, "at": t}) for t in texts]


def expected(spark: SparkSession) -> dict[str, tuple[Any, bool]]:
    """Text -> the time that a cast makes of it, and whether it is malformed."""
    dated = spark.createDataFrame([(text,) for text in DATED], "text string")
    times = {row.text: row.at for row in dated.selectExpr("text", "text::timestamp at").collect()}
    return {text: (times.get(text), text in MALFORMED) for text in (*DATED, *MALFORMED)}


@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_time_without_a_date_in_a_file_or_a_record_is_malformed(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    path = tmp_path / "a"
    path.write_text("\n".join((["text,at"] if format == "csv" else []) + lines(format)) + "\n")
    source = FileSource.model_validate({"format": format, "path": "/in", "schema": SCHEMA})
    of_file = read_batch(spark, source, [str(path)]).select("text", "at", CORRUPT).cache()
    value = parse(KafkaValue.model_validate({"format": format, "schema": SCHEMA}))
    assert value is not None
    records = spark.createDataFrame([(line,) for line in lines(format)], "value string")
    of_record = records.select(value.alias("one")).select("one.text", "one.at", f"one.{CORRUPT}")
    for rows in (of_file, of_record):
        assert {r.text: (r.at, r[2] is not None) for r in rows.collect()} == expected(spark)


def test_a_text_in_a_csv_file_is_the_time_that_the_format_makes_of_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    texts = (
        *DATED,
        *MALFORMED,
        # The hour that summer time leaves out, the one that it has twice, and a zone of that place.
        "2026-03-29 02:30:00",
        "2026-10-25T02:30:00",
        "1890-01-01 00:00:00",
        "0000-01-01 00:00:00",
        "9999-12-31 23:59:59",
        "2026-03-01 05:00:60",
        "2026-03-01 24:00:00",
        # As long as a text with all its digits; a cast reads more of these than the format does.
        "2026-03-01 05:00:5.",
        "2026-03-01T05:00:05",
        "2026-03-01X05:00:05",
        "2026-03-1 T05:00:05",
        "20260-3-01 05:00:05",
        "+2026-3-01 05:00:05",
        "-026-03-01 05:00:05",
        "026-03-001 05:00:05",
        "2026-03-01 05:00+01",
        "2026-3-01 005:00:05",
        "2026-03-01 05:00:.5",
        "2026-03-01 05:00:-5",
        "2026-03-01 5Z:00:05",
        "2026-03-01 05:+1:05",
        "2026-0\u0663-01 05:00:05",
        "12:30:05.1234567890",
        "12:3-:05.1230:45:67",
        "2026-03-01 05:00:5Z",
        "2026-03-01 05:00:5 ",
        "2026-03-01 05:0:05\t",
        "2026-3-1 1:2:3+1:00",
        "2026-3-1 12:00:00  ",
        "2026-03-01  5:00:00",
    )
    path = tmp_path / "a.csv"
    path.write_text("\n".join(("text,at", *(f'"{text}","{text}"' for text in texts))) + "\n")
    source = FileSource.model_validate({"format": "csv", "path": "/in", "schema": SCHEMA})
    zone = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        read = read_batch(spark, source, [str(path)]).select("text", F.unix_micros("at"))
        found = {row[0]: row[1] for row in read.collect()}
        form = F.lit(source.reader_options["timestampFormat"])
        wanted = spark.createDataFrame([(text,) for text in texts], "text string").select(
            "text", F.unix_micros(F.try_to_timestamp("text", form))
        )
        assert found == {row[0]: row[1] for row in wanted.collect()}
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_a_row_whose_time_is_malformed_keeps_the_texts_that_were_delivered(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,at,till\na,12:30,\nb,2026-03-01,2026-03-01T1:00\nc,2026-03-01,soon\n")
    schema = f"{SCHEMA}, till timestamp"
    source = FileSource.model_validate({"format": "csv", "path": "/in", "schema": schema})
    rows = read_batch(spark, source, [str(path)]).collect()
    assert {row.text: row[CORRUPT] and json.loads(row[CORRUPT]) for row in rows} == {
        "a": {"text": "a", "at": "12:30"},
        "b": None,
        "c": {"text": "c", "at": "2026-03-01", "till": "soon"},
    }


def test_a_text_is_made_a_timestamp_by_a_format_only(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("x", None)], "text string, at timestamp")
    for of_the_clock in (
        "text::timestamp",
        "try_cast(text AS timestamp)",
        "to_timestamp(text)",
        "try_to_timestamp(text)",
        "at > text",
        "hour(text)",
        "array(text)::array<timestamp>",
        "from_json(text, 'at timestamp')",
        "at > timestamp'now'",
        "at > timestamp'12:30'",
        "at > '12:30'",
        "to_date(at) > to_date('yesterday')",
        "concat('to', 'day')::date",
    ):
        with pytest.raises(TransformNotRepeatable):
            refuse_unrepeatable(rows.select(F.expr(of_the_clock)), Path("orders.py"))
    for of_the_row in (
        "to_timestamp(text, 'yyyy-MM-dd HH:mm:ss')",
        "text::date",
        "text::timestamp_ntz::timestamp",
        "from_json(text, 'at timestamp', map('timestampFormat', 'yyyy-MM-dd HH:mm'))",
        "at > timestamp'2026-03-01 12:30'",
        "at > '2026-03-01 12:30'",
        "hour(at) > 12",
        "timestamp_seconds(text::bigint)",
    ):
        refuse_unrepeatable(rows.select(F.expr(of_the_row)), Path("orders.py"))
