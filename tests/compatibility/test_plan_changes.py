"""Changes of projections and filters, row by row after Spark's guide, "Recovery Semantics".

Each row is a transform before and after; both are only analysed, and no query runs.
"""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from tests.support.pipelines.analysed_plans import Found, Inputs, Transform, grouped, mapped, named
from tidemill.compatibility.change import Verdict

ALLOWED, CONSEQUENCES, NOT_ALLOWED = Verdict

ROWS: dict[str, tuple[Transform, Transform, Found]] = {
    # Changes in projection, filter and map-like operations.
    "a filter": (
        mapped("n"),
        mapped("n", where="n > 0"),
        {("transform.filter", CONSEQUENCES)},
    ),
    "another filter": (
        mapped("n", where="n > 0"),
        mapped("n", where="n > 1"),
        {("transform.filter", CONSEQUENCES)},
    ),
    "a number in a text": (
        mapped("n", where="word = 'no#1'"),
        mapped("n", where="word = 'no#2'"),
        {("transform.filter", CONSEQUENCES)},
    ),
    "the same columns, made of others": (
        mapped("n AS v"),
        mapped("m AS v"),
        {("transform.columns.v", CONSEQUENCES)},
    ),
    "a column more": (mapped("n"), mapped("n", "m"), {("transform.columns.m", CONSEQUENCES)}),
    "other columns": (
        mapped("n"),
        mapped("m"),
        {("transform.columns.n", CONSEQUENCES), ("transform.columns.m", CONSEQUENCES)},
    ),
    "a column of another type": (
        mapped("n"),
        mapped("string(n) AS n"),
        {("transform.columns.n", CONSEQUENCES)},
    ),
    "a join with a static input": (
        named("left"),
        named("inner"),
        {("transform.operation", CONSEQUENCES)},
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_change_has_its_verdict(name: str, inputs: Inputs) -> None:
    was, now, expected = ROWS[name]
    assert inputs.changes(was, now) == expected


SAME: dict[str, tuple[Transform, Transform]] = {
    "in two steps": (
        mapped("n + m AS v", where="n > 0"),
        lambda events, *_: (
            events.withColumn("one", F.col("n")).where("one > 0").selectExpr("id", "one + m AS v")
        ),
    ),
    "columns in another order": (
        mapped("n", "m"),
        lambda events, *_: events.select("m", "id", "n"),
    ),
    "a lambda that another came before": (
        lambda events, *_: events.select(F.transform(F.array("n"), lambda x: x + 1).alias("v")),
        lambda events, *_: events.select(F.transform(F.array("n"), lambda x: x + 1).alias("v")),
    ),
    "aggregates under other names": (
        grouped("id"),
        lambda events, *_: (
            events.where("n > 0")
            .groupBy("id")
            .agg(F.sum("n").alias("x"))
            .withColumnRenamed("x", "total")
        ),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_what_is_written_otherwise_and_means_the_same_is_no_change(
    name: str, inputs: Inputs
) -> None:
    assert inputs.changes(*SAME[name]) == set()


def test_a_function_of_rows_is_known_by_its_code(inputs: Inputs) -> None:
    def with_function(add: int) -> Transform:
        plus = F.udf(lambda n: n + add, "int")
        return lambda events, *_: events.select(plus("n").alias("v"))

    assert inputs.changes(with_function(1), with_function(1)) == set()
    found = inputs.changes(with_function(1), with_function(2))
    assert found == {("transform.functions.<lambda>", CONSEQUENCES)}


def test_a_published_table_takes_columns_more_and_no_others(inputs: Inputs) -> None:
    was, table = mapped("n", "m"), {"id": "string", "n": "int", "m": "int"}
    assert inputs.changes(was, mapped("n", "m", "word"), table) == {
        ("transform.columns.word", CONSEQUENCES)
    }
    assert inputs.changes(was, mapped("n"), table) == {("transform.columns.m", NOT_ALLOWED)}
    assert inputs.changes(was, mapped("n", "string(m) AS m"), table) == {
        ("transform.columns.m", NOT_ALLOWED)
    }
    # One that was added since, and is left out again.
    assert inputs.changes(was, was, {**table, "word": "string"}) == {
        ("transform.columns.word", NOT_ALLOWED)
    }
