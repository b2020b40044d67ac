"""A result is refused for its columns before a query starts; what the refusal says works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import StructType

from tests.support.spec_text import minimal, parse
from tidemill.engine.query.publishable import publishable
from tidemill.engine.query.reject import REJECT_TYPE
from tidemill.engine.query.result_columns import ColumnUnfit, refuse_unfit_columns
from tidemill.file_formats.reader import REJECT
from tidemill.spec.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = Path("transforms/orders.py")
SELECT = re.compile(r"Select (.+) in its place\.|: (from_json.+)\.$")
TO_MARIADB = "publish: [{kind: delta}, {kind: mariadb, conn_id: db, table: t}]\n"
TO_POSTGRES = "publish: [{kind: delta}, {kind: postgres, conn_id: db, table: t}]\n"


def refused(schema: StructType, more: str = "") -> ColumnUnfit:
    with pytest.raises(ColumnUnfit) as raised:
        refuse_unfit_columns(schema, parse(minimal(more)), FILE)
    assert raised.value.field == "transform"
    return raised.value


@pytest.mark.parametrize(
    "value",
    [
        "INTERVAL '1' DAY",
        "INTERVAL '1' YEAR",
        "make_interval(1, 2)",
        "TIME'12:30:00'",
        "parse_json('[1]')",
        "NULL",
        "array()",
        "map()",
        "array(INTERVAL '1' DAY)",
        "named_struct('a', NULL, 'two words', 1)",
        "map('k', TIMESTAMP_NTZ'2026-03-01 12:00:00')",
        "array(parse_json('1'))",
        "array(struct())",
    ],
)
def test_what_the_refusal_of_a_type_says_to_select_is_carried(
    value: str, spark: SparkSession
) -> None:
    rows = spark.sql(f"SELECT 1 AS id, {value} AS made")
    error = refused(rows.schema)
    assert error.column.partition(".")[0] == "made"
    said = SELECT.search(error.remedy)
    assert said is not None, error.remedy
    better = rows.selectExpr("id", said[1] or said[2])
    refuse_unfit_columns(better.schema, parse(minimal()), FILE)
    assert better.columns == ["id", "made"]
    assert len(better.collect()) == 1


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        ("1 AS id, 2 AS ID", "ID"),
        ("l.k, r.k", "k"),
        ("named_struct('a', 1, 'A', 2) AS made", "made.A"),
        ("1 AS ``", ""),
    ],
)
def test_names_that_no_reader_can_tell_apart_are_refused(
    sql: str, column: str, spark: SparkSession
) -> None:
    rows = spark.sql(f"SELECT {sql} FROM (SELECT 1 k) l JOIN (SELECT 1 k) r ON l.k = r.k")
    assert refused(rows.schema).column == column


def test_a_name_and_a_key_that_a_database_cannot_have_are_refused(spark: SparkSession) -> None:
    long = "n" * 64
    assert refused(spark.sql(f"SELECT 1 AS {long}").schema, TO_POSTGRES).column == long
    upsert = TO_POSTGRES.replace("table: t", "table: t, mode: upsert") + "output: {keys: [k]}\n"
    assert refused(spark.sql("SELECT array(1) AS k").schema, upsert).column == "k"


def test_a_column_that_a_topic_is_keyed_by_must_be_there(spark: SparkSession) -> None:
    topic = "publish: [{kind: delta}, {kind: kafka, topic: t, key: [gone]}]\n"
    assert refused(spark.sql("SELECT 1 AS id").schema, topic).column == "gone"


def test_a_key_whose_spelling_may_change_is_refused(spark: SparkSession) -> None:
    rows = spark.sql("SELECT 'A' COLLATE UTF8_LCASE AS k")
    update = "output: {mode: update, keys: [k]}\n"
    assert refused(rows.schema, update).column == "k"
    refuse_unfit_columns(rows.schema, parse(minimal()), FILE)


def rows_by_key(spark: SparkSession, spec: Spec) -> dict[Any, Any]:
    columns = f"k string, n int, {REJECT} {REJECT_TYPE}"
    old = ("malformed", "f", "r", {})
    rows = spark.createDataFrame([("a", 1, None), (None, 2, None), (None, None, old)], columns)
    found = [
        row.asDict(recursive=True)
        for row in publishable(rows, spec, [*spec.output.partition_by]).collect()
    ]
    return {
        one[REJECT]["reason"] if one[REJECT] else one["k"]: (one["n"], one[REJECT]) for one in found
    }


def test_a_null_key_is_a_result_and_rejected_where_a_database_holds_the_keys(
    spark: SparkSession,
) -> None:
    update = "output: {mode: update, keys: [k]}\n"
    everywhere = rows_by_key(spark, parse(minimal(update)))
    assert everywhere[None] == (2, None)

    found = rows_by_key(spark, parse(minimal(update + TO_POSTGRES)))
    assert set(found) == {"a", "no key k", "malformed"}
    assert found["no key k"][0] is None
    assert found["no key k"][1]["record"] == '{"n":2}'
    assert found["malformed"][1]["record"] == "r"


def test_a_key_that_is_too_long_for_a_database_is_rejected(spark: SparkSession) -> None:
    spec = parse(minimal("output: {mode: update, keys: [k]}\n" + TO_MARIADB))
    rows = spark.sql(
        f"SELECT repeat('ü', 255 + id) AS k, CAST(NULL AS {REJECT_TYPE}) AS {REJECT} FROM range(2)"
    )
    found = [row[REJECT] and row[REJECT]["reason"] for row in publishable(rows, spec, ()).collect()]
    assert found == [None, "key k longer than 255 characters"]

    spec = parse(minimal("output: {mode: update, keys: [k, l]}\n" + TO_POSTGRES))
    rows = rows.selectExpr("repeat('ü', 1300 - 255) || k AS k", "CAST('' AS BINARY) AS l", REJECT)
    found = [row[REJECT] and row[REJECT]["reason"] for row in publishable(rows, spec, ()).collect()]
    assert found == [None, "key longer than 2600 bytes"]


def test_keys_that_are_too_many_for_a_database_are_refused(spark: SparkSession) -> None:
    keys = ["a", "b", "c", "d"]
    rows = spark.sql("SELECT " + ", ".join(f"'x' AS {key}" for key in keys))
    update = "output: {mode: update, keys: [%s]}\n" + TO_MARIADB
    assert refused(rows.schema, update % ", ".join(keys)).column == "a"
    refuse_unfit_columns(rows.schema, parse(minimal(update % "a, b, c")), FILE)


def test_a_result_without_a_partition_is_rejected_before_it_is_judged(spark: SparkSession) -> None:
    found = rows_by_key(spark, parse(minimal("output: {partition_by: {k: upper(id)}}\n")))
    assert set(found) == {"a", "no partition k", "malformed"}

    kept = "output: {null_partition: keep, partition_by: {k: upper(id)}}\n"
    assert set(rows_by_key(spark, parse(minimal(kept)))) == {"a", None, "malformed"}
