"""Kinds of query, chains and operations in every output mode, row by row of tests/matrix.yaml."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.state import GroupStateTimeout

from tests.support.pipelines.matrix_queries import Streams, assert_as_told, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Make = Callable[[Streams], DataFrame]
THEN = "id string, then timestamp"


@pytest.fixture(scope="module")
def streams(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Streams:
    return Streams(spark, tmp_path_factory.mktemp("streams"))


class Silent(StatefulProcessor):
    """A processor that says nothing."""

    def init(self, handle: Any) -> None:
        pass

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        return iter(())


def windowed(rows: DataFrame) -> DataFrame:
    return rows.groupBy(F.window("at", "5 minutes").alias("w"), "id").count()


def grouped(mode: str) -> Make:
    return lambda s: (
        s.rows()
        .groupBy("id")
        .applyInPandasWithState(
            lambda key, frames, state: iter(()), THEN, "n int", mode, GroupStateTimeout.NoTimeout
        )
    )


def own_state(s: Streams) -> DataFrame:
    keyed = s.rows().groupBy("id")
    return keyed.transformWithState(
        Silent(), THEN, "Append", "EventTime", eventTimeColumnName="then"
    )


def joined(how: str) -> Make:
    def make(s: Streams) -> DataFrame:
        right = s.rows().select(F.col("id").alias("other"), F.col("at").alias("then"))
        within = F.expr("id = other AND then BETWEEN at AND at + INTERVAL 1 HOUR")
        return s.rows().join(right, within, how)

    return make


def windows_joined(how: str) -> Make:
    return lambda s: windowed(s.rows()).join(
        windowed(s.rows()).withColumnRenamed("count", "others"), ["w", "id"], how
    )


QUERIES: dict[str, Make] = {
    "rows": lambda s: s.rows().select("id"),
    "join-with-static": lambda s: s.rows().join(s.static().select("id"), "id"),
    "windows": lambda s: windowed(s.rows()),
    "windows-without-watermark": lambda s: windowed(s.rows(None)),
    "sessions": lambda s: s.rows().groupBy(F.session_window("at", "5 minutes"), "id").count(),
    "running-aggregation": lambda s: s.rows().groupBy("id").count(),
    "deduplication": lambda s: s.rows().dropDuplicates(["id", "at"]),
    "deduplication-without-watermark": lambda s: s.rows(None).dropDuplicates(["id"]),
    "deduplication-within-watermark": lambda s: s.rows().dropDuplicatesWithinWatermark(["id"]),
    "deduplication-within-no-watermark": lambda s: s.rows(None).dropDuplicatesWithinWatermark(),
    "inner-join": joined("inner"),
    "outer-join": joined("left_outer"),
    "group-state-append": grouped("append"),
    "group-state-update": grouped("update"),
    "transform-with-state": own_state,
}
CHAINED: dict[str, Callable[[DataFrame], DataFrame]] = {
    "windows": lambda rows: rows.groupBy(F.window("at", "1 hour").alias("hour")).count(),
    "running-aggregation": lambda rows: rows.groupBy("id").count(),
}
CHAINS: dict[str, Make] = {
    "windows > windows": lambda s: (
        windowed(s.rows()).groupBy(F.window("w", "1 hour")).agg(F.sum("count").alias("sum"))
    ),
    "windows > deduplication": lambda s: windowed(s.rows()).dropDuplicates(["w"]),
    "windows > inner-join": windows_joined("inner"),
    "windows > outer-join": windows_joined("left_outer"),
    "transform-with-state > windows": lambda s: (
        own_state(s).groupBy(F.window("then", "1 hour")).count()
    ),
    "group-state-append > windows": lambda s: (
        grouped("append")(s).groupBy(F.window("then", "1 hour")).count()
    ),
}


def chain(name: str) -> Make:
    if name in CHAINS:
        return CHAINS[name]
    first, _, then = name.partition(" > ")
    return lambda s: CHAINED[then](QUERIES[first](s))


def in_sql(s: Streams) -> DataFrame:
    return s.session.sql("SELECT DISTINCT id FROM {rows}", rows=s.rows())


def most_of(udf: Callable[..., Any], kind: int) -> Callable[[str], Column]:
    """An aggregate of a user's own, in Python."""
    found: Callable[[str], Column] = udf(lambda values: max(values), "int", kind)
    return found


KEYS = "id string, at timestamp, n int"
OPERATIONS: dict[str, Make] = {
    "limit": lambda s: s.rows().limit(5),
    "limit-of-aggregation": lambda s: s.rows().groupBy("id").count().orderBy("count").limit(5),
    "offset": lambda s: s.rows().offset(5),
    "distinct": lambda s: s.rows().distinct(),
    "distinct-in-sql": in_sql,
    "sort": lambda s: s.rows().orderBy("n"),
    "sort-of-aggregation": lambda s: s.rows().groupBy("id").count().orderBy("count"),
    "exact-distinct-count": lambda s: (
        s.rows().groupBy(F.window("at", "1 hour")).agg(F.count_distinct("id").alias("ids"))
    ),
    "approximate-distinct-count": lambda s: (
        s.rows().groupBy(F.window("at", "1 hour")).agg(F.approx_count_distinct("id").alias("ids"))
    ),
    "pandas-aggregate": lambda s: (
        s.rows()
        .groupBy(F.window("at", "1 hour"))
        .agg(most_of(F.pandas_udf, F.PandasUDFType.GROUPED_AGG)("n").alias("most"))
    ),
    "arrow-aggregate": lambda s: (
        s.rows()
        .groupBy(F.window("at", "1 hour"))
        .agg(most_of(F.arrow_udf, F.ArrowUDFType.GROUPED_AGG)("n").alias("most"))
    ),
    "cube": lambda s: s.rows().cube("id", "n").count(),
    "rollup": lambda s: s.rows().rollup("id", "n").count(),
    "grouping-sets": lambda s: s.rows().groupingSets([["id"], ["n"]], "id", "n").count(),
    "pivot": lambda s: s.rows().groupBy("id").pivot("n", [1, 2]).count(),
    "row-number": lambda s: s.rows().selectExpr("row_number() OVER (PARTITION BY id ORDER BY at)"),
    "sample": lambda s: s.rows().sample(0.5, 3),
    "union-with-static": lambda s: s.rows().unionByName(s.static()),
    "subtract-static": lambda s: s.rows().subtract(s.static()),
    "subtract-stream": lambda s: s.static().subtract(s.rows()),
    "intersect": lambda s: s.rows().intersect(s.rows()),
    "groups-in-pandas": lambda s: s.rows().groupBy("id").applyInPandas(lambda group: group, KEYS),
    "cogroups-in-pandas": lambda s: (
        s.rows()
        .groupBy("id")
        .cogroup(s.rows().groupBy("id"))
        .applyInPandas(lambda left, right: left, KEYS)
    ),
}


@rows_of("queries")
def test_a_query_in_a_mode(row: dict[str, Any], streams: Streams) -> None:
    assert_as_told(row, QUERIES[row["query"]](streams), streams)


@rows_of("chains")
def test_a_chain_in_a_mode(row: dict[str, Any], streams: Streams) -> None:
    assert_as_told(row, chain(row["chain"])(streams), streams)


@rows_of("operations")
def test_an_operation_in_a_mode(row: dict[str, Any], streams: Streams) -> None:
    assert_as_told(row, OPERATIONS[row["operation"]](streams), streams)
