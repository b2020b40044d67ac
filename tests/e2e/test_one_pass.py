"""One pass and two passes over the source give the same rows, whatever the transform."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.support.pipelines.orders_pipeline import SPEC
from tidemill.engine.query.reject import FAR_TIME, good, tag, two_passes
from tidemill.engine.query.single_pass import one_pass, rows_per_row
from tidemill.engine.sources.file import read_batch
from tidemill.spec.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Transform = Callable[[DataFrame], DataFrame]
LINES = """id,quantity,at
a,1,2026-03-01 00:00:00
b,0,2026-03-01 01:00:00
c,many,2026-03-02 00:00:00
,4,2026-03-02 00:00:00
e,5,
f,6,2026-03-02 00:00:00
g,7,+12026-03-02 00:00:00
"""

REASONS = [FAR_TIME, "malformed", "no event time", "rule id_present"]

NARROW: dict[str, Transform] = {
    "unchanged": lambda rows: rows,
    "computed": lambda rows: rows.withColumn("half", F.col("quantity") / 2),
    "renamed": lambda rows: rows.withColumnRenamed("quantity", "pieces"),
    "filtered": lambda rows: rows.where("quantity > 0"),
    "computed from computed": lambda rows: rows.withColumn(
        "twice", F.col("quantity") * 2
    ).withColumn("thrice", F.col("twice") + F.col("quantity")),
    "filtered by computed": lambda rows: rows.withColumn("n", F.length("id")).where("n = 1"),
    "selected": lambda rows: rows.select("day", F.upper("id").alias("name")),
    "overwritten": lambda rows: rows.withColumn("id", F.concat("id", F.lit("!"))),
    # Division by zero is an error in ANSI mode; `b` is filtered out before it.
    "fails on what is filtered out": lambda rows: rows.where("quantity <> 0").withColumn(
        "inverse", 1 / F.col("quantity")
    ),
    # No rejected row has ten days; a cast that fails must not see them.
    "fails on rejected rows": lambda rows: rows.withColumn(
        "code", F.when(F.col("id").isNull(), F.raise_error(F.lit("saw a rejected row")))
    ),
    "aliased": lambda rows: rows.alias("o").select("o.day", "o.id"),
}
WIDE: dict[str, Transform] = {
    "distinct": lambda rows: rows.distinct(),
    "joined": lambda rows: rows.join(
        rows.sparkSession.createDataFrame([("a", "first")], "id string, note string"), "id", "left"
    ),
    "united": lambda rows: rows.unionByName(rows),
    "python function": lambda rows: rows.withColumn("name", F.udf(lambda text: text + "!")("id")),
}


@pytest.fixture(scope="module")
def spec() -> Spec:
    source = {**SPEC["sources"]["orders"], "path": "/nowhere"}
    return Spec.model_validate({**SPEC, "sources": {"orders": source}})


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, spec: Spec) -> DataFrame:
    path: Path = tmp_path_factory.mktemp("rows") / "orders.csv"
    path.write_text(LINES)
    return tag(read_batch(spark, spec.sources["orders"], [str(path)]), spec, "orders")


def multiset(rows: DataFrame) -> Counter[Any]:
    ordered = sorted(rows.columns)
    return Counter(str(row.asDict(recursive=True)) for row in rows.select(*ordered).collect())


def rejected(rows: DataFrame) -> list[str]:
    # Not `count()`: Spark would then parse only the columns that a count needs.
    return sorted(row["_reject"]["reason"] for row in rows.collect() if row["_reject"])


@pytest.mark.parametrize("name", NARROW)
def test_one_pass_equals_two(name: str, tagged: DataFrame, spec: Spec) -> None:
    fine = good(tagged, spec, "orders")
    transformed = NARROW[name](fine)
    once = one_pass(tagged, fine, transformed)
    assert once is not None
    assert multiset(once) == multiset(two_passes([tagged], transformed))
    assert rejected(once) == REASONS


@pytest.mark.parametrize("name", WIDE)
def test_what_cannot_be_guarded_takes_two_passes(name: str, tagged: DataFrame, spec: Spec) -> None:
    fine = good(tagged, spec, "orders")
    transformed = WIDE[name](fine)
    assert one_pass(tagged, fine, transformed) is None
    assert rejected(two_passes([tagged], transformed)) == REASONS


@pytest.mark.parametrize(
    ("transform", "per_row"),
    [
        (NARROW["computed"], "one"),
        (NARROW["aliased"], "one"),
        (WIDE["python function"], "one"),
        (NARROW["filtered by computed"], "at_most_one"),
        (WIDE["distinct"], "any"),
        (WIDE["joined"], "any"),
        (WIDE["united"], "any"),
        (lambda rows: rows.withColumn("n", F.explode(F.sequence(F.lit(1), F.lit(2)))), "any"),
    ],
)
def test_the_rows_that_a_transform_makes_of_each_row_are_known_by_its_plan(
    tagged: DataFrame, spec: Spec, transform: Transform, per_row: str
) -> None:
    fine = good(tagged, spec, "orders")
    assert rows_per_row(fine, transform(fine)) == per_row
