"""A transform in SQL: what it reads, what it may be, and where its mistakes are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemill.engine.query.single_pass import one_pass
from tidemill.engine.query.sql_transform import SqlRefused, SqlTransform
from tidemill.engine.spark_internals.plan import analysed, nodes
from tidemill.file_formats.reader import REJECT

Write = Callable[[str], SqlTransform]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str) -> SqlTransform:
        path = tmp_path / "orders.sql"
        path.write_text(text)
        return SqlTransform(path)

    return written


@pytest.fixture(scope="module")
def orders(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(1, "tea"), (2, "mug")], "id int, product string")


@pytest.fixture(scope="module")
def prices(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([("tea", 9)], "product string, price int")


def rows(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted(map(tuple, frame.collect()))


def test_it_reads_its_inputs_by_their_names(
    write: Write, orders: DataFrame, prices: DataFrame
) -> None:
    select = write("SELECT id, price FROM orders LEFT JOIN prices USING (product);\n-- done\n")
    assert rows(select(orders=orders, prices=prices)) == [(1, 9), (2, None)]


def test_it_may_name_what_comes_before_it(write: Write, orders: DataFrame) -> None:
    select = write("WITH tea AS (SELECT * FROM orders WHERE product = 'tea') SELECT id FROM tea")
    result = select(orders=orders)
    assert rows(result) == [(1,)]
    kinds = {node.nodeName() for node in nodes(analysed(result))}
    assert not kinds & {"View", "WithCTE", "CTERelationRef"}


def test_no_view_of_it_is_seen_elsewhere_and_it_sees_none_of_others(
    write: Write, spark: SparkSession, orders: DataFrame, prices: DataFrame
) -> None:
    prices.createOrReplaceTempView("somebodys")
    try:
        write("SELECT id FROM orders")(orders=orders)
        assert not spark.catalog.tableExists("orders")
        with pytest.raises(SqlRefused) as refused:
            write("SELECT *\nFROM somebodys")(orders=orders)
        assert refused.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
        assert refused.value.line == 2
    finally:
        spark.catalog.dropTempView("somebodys")


@pytest.mark.parametrize(
    "function",
    [
        "reflect",
        "JAVA_METHOD",
        "`try_reflect`",
        "builtin.reflect",
        "system.builtin.reflect",
        "IDENTIFIER('ref' || 'lect')",
    ],
)
def test_it_runs_no_java(
    write: Write, spark: SparkSession, orders: DataFrame, function: str
) -> None:
    call = f"{function}('java.lang.System', 'lineSeparator')"
    with pytest.raises(SqlRefused, match="any method of Java"):
        write(f"SELECT id, (SELECT {call}) AS what FROM orders")(orders=orders)
    # A transform in Python is code anyway, and its session is as Spark made it.
    assert spark.sql(f"SELECT {call}").count() == 1


def test_it_reads_no_file_that_nobody_has_pinned(
    write: Write, orders: DataFrame, tmp_path: Path
) -> None:
    orders.write.parquet(str(tmp_path / "files"))
    with pytest.raises(SqlRefused):
        write(f"SELECT * FROM parquet.`{tmp_path}/files`")(orders=orders)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("SELECT id,\n  prise\nFROM orders", 2),
        ("SELECT id\nFORM orders", 2),
        ("-- one\nSELECT id FROM orders\nWHERE id = ", 3),
    ],
)
def test_a_mistake_has_its_line(write: Write, orders: DataFrame, text: str, line: int) -> None:
    with pytest.raises(SqlRefused) as refused:
        write(text)(orders=orders)
    assert refused.value.line == line


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE mine (id int)",
        "CREATE TEMPORARY VIEW mine AS SELECT * FROM orders",
        "CREATE TABLE mine AS SELECT * FROM orders",
        "WITH o AS (SELECT * FROM orders) INSERT INTO mine SELECT * FROM o",
        "SET spark.sql.ansi.enabled = false",
        "DROP VIEW orders",
        "SELECT 1; SELECT 2",
        "BEGIN SELECT 1; SELECT 2; END",
        "",
    ],
)
def test_anything_but_one_select_is_refused_before_it_is_carried_out(
    write: Write, spark: SparkSession, orders: DataFrame, text: str
) -> None:
    with pytest.raises(SqlRefused):
        write(text)(orders=orders)
    assert not spark.catalog.tableExists("mine")
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"


def test_a_plain_select_needs_one_pass_only(write: Write, orders: DataFrame) -> None:
    tagged = orders.withColumn(REJECT, F.lit(None).cast("string"))
    good = tagged.where(F.col(REJECT).isNull()).drop(REJECT)
    result = write("SELECT id + 1 AS next FROM orders WHERE product <> 'mug'")(orders=good)
    both = one_pass(tagged, good, result)
    assert both is not None
    assert [row["next"] for row in both.collect() if row["next"] is not None] == [2]
