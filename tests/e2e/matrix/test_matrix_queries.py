"""Kinds of query, chains and operations in every output mode, row by row of tests/matrix.yaml."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.state import GroupStateTimeout

from tests.support.pipelines import matrix_query_models
from tests.support.pipelines.matrix_models import StreamJoin
from tests.support.pipelines.matrix_queries import (
    MATRIX,
    Played,
    Streams,
    as_multiset,
    assert_as_told,
    label,
    rows_of,
)
from tests.support.spec_text import minimal, parse
from tidemill.toolchain.spark_conf import engine_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Make = Callable[[Streams], DataFrame]
THEN = "id string, then timestamp"

# The one of Spark's stores that has room for a user's own state.
STORE = "spark.sql.streaming.stateStore."
ROCKSDB = {key: value for key, value in engine_conf(parse(minimal())).items() if STORE in key}


@pytest.fixture(scope="module")
def streams(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Streams:
    return Streams(spark, tmp_path_factory.mktemp("streams"))


@pytest.fixture(scope="module")
def played(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[dict[str, Any]], Played]:
    """The query of a row, as a branch of one with others where Spark takes it so; run once."""
    streams = Streams(spark, tmp_path_factory.mktemp("played"))
    streams.deliver_feed()
    results: dict[str, Played] = {}

    def of(row: dict[str, Any]) -> Played:
        if label(row) not in results:
            rows = [one for one in running_rows() if together(one) == together(row)]
            if together(row) is None:
                rows = [row]
            branches = {label(one): frame_of(one, streams) for one in rows}
            results.update(dict.fromkeys(branches, streams.play(branches, row["mode"], ROCKSDB)))
        return results[label(row)]

    return of


class Latest(StatefulProcessor):
    """Gives out the latest time of a key whenever rows of it come."""

    def init(self, handle: Any) -> None:
        self.latest = handle.getValueState("latest", "seconds double")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        times = [row["at"].timestamp() for row in rows]
        if self.latest.exists():
            times.append(self.latest.get()[0])
        self.latest.update((max(times),))
        yield Row(id=key[0], then=datetime.fromtimestamp(max(times)).astimezone())


def latest(key: Any, frames: Any, state: Any) -> Iterator[pd.DataFrame]:
    """The same with the older kind of state."""
    times = [frame["at"].max() for frame in frames]
    if state.exists:
        times.append(pd.Timestamp(state.get[0], unit="s"))
    state.update((int(max(times).timestamp()),))
    yield pd.DataFrame({"id": [key[0]], "then": [max(times)]})


def windowed(rows: DataFrame) -> DataFrame:
    return rows.groupBy(F.window("at", "5 minutes").alias("w"), "id").count()


def grouped(mode: str) -> Make:
    return lambda s: (
        s.rows()
        .groupBy("id")
        .applyInPandasWithState(latest, THEN, "n int", mode, GroupStateTimeout.NoTimeout)
    )


def own_state(s: Streams) -> DataFrame:
    keyed = s.rows().groupBy("id")
    return keyed.transformWithState(
        Latest(), THEN, "Append", "EventTime", eventTimeColumnName="then"
    )


def side(s: Streams, bit: int, *names: str) -> DataFrame:
    return s.rows().where(f"n & {bit} > 0").select("id", "at").toDF(*names)


def met(left: DataFrame, right: DataFrame, how: str) -> DataFrame:
    name, time = right.columns
    within = F.expr(f"id = {name} AND {time} BETWEEN at AND at + INTERVAL 1 HOUR")
    return left.join(right, within, how)


def joined(how: str) -> Make:
    return lambda s: met(side(s, 1, "id", "at"), side(s, 2, "other", "then"), how)


def joined_twice(how: str) -> Make:
    def make(s: Streams) -> DataFrame:
        # Spark takes one column of event time into an operator with state.
        left = joined(how)(s).select("id", "at", "other")
        return met(left, side(s, 2, "third", "later"), how)

    return make


def windows_joined(how: str) -> Make:
    return lambda s: windowed(s.rows()).join(
        windowed(s.rows()).withColumnRenamed("count", "others"), ["w", "id"], how
    )


QUERIES: dict[str, Make] = {
    "rows": lambda s: s.rows().select("id"),
    "join-with-static": lambda s: s.rows().select("id").join(s.static().select("id"), "id"),
    "windows": lambda s: windowed(s.rows()),
    "windows-without-watermark": lambda s: windowed(s.rows(None)),
    "sessions": lambda s: s.rows().groupBy(F.session_window("at", "5 minutes"), "id").count(),
    "running-aggregation": lambda s: s.rows().groupBy("id").count(),
    "deduplication": lambda s: s.rows().select("id", "at").dropDuplicates(["id", "at"]),
    "deduplication-without-watermark": lambda s: s.rows(None).dropDuplicates(["id"]).select("id"),
    "deduplication-within-watermark": lambda s: (
        s.rows().dropDuplicatesWithinWatermark(["id"]).select("id")
    ),
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
    "windows > deduplication": lambda s: windowed(s.rows()).dropDuplicates(["w"]).select("w"),
    "windows > inner-join": windows_joined("inner"),
    "windows > outer-join": windows_joined("left_outer"),
    "inner-join > inner-join": joined_twice("inner"),
    "outer-join > outer-join": joined_twice("left_outer"),
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
    "limit-of-aggregation": lambda s: (
        s.rows().groupBy("id").count().orderBy(F.desc("count"), "id").limit(2)
    ),
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


def frame_of(row: dict[str, Any], streams: Streams) -> DataFrame:
    if "chain" in row:
        return chain(row["chain"])(streams)
    name = row.get("query") or row["operation"]
    return (QUERIES if "query" in row else OPERATIONS)[name](streams)


def running_rows() -> list[dict[str, Any]]:
    sections = [*MATRIX["queries"], *MATRIX["chains"], *MATRIX["operations"]]
    return [row for row in sections if row["says"] == "run"]


def together(row: dict[str, Any]) -> str | None:
    """The mode of the query that a row may be a branch of: Spark counts a query's aggregations."""
    if row["mode"] == "append":
        return "append"
    apart = "chain" in row or "operation" in row or row["query"].startswith(("windows", "running"))
    return "update" if row["mode"] == "update" and not apart else None


@rows_of("queries", "chains", "operations")
def test_a_query_is_taken_or_refused_in_a_mode(row: dict[str, Any], streams: Streams) -> None:
    assert_as_told(row, frame_of(row, streams), streams)


@rows_of("queries", "chains", "operations", says="run")
def test_a_query_gives_out_what_its_model_says(
    row: dict[str, Any], played: Callable[[dict[str, Any]], Played]
) -> None:
    shown = played(row).rows[label(row)]
    name = row.get("chain") or row.get("query") or row["operation"]
    assert as_multiset(shown) == as_multiset(matrix_query_models.QUERIES[name](row["mode"]))
    assert shown


CASCADES = ("inner-join > inner-join", "outer-join > outer-join")


@pytest.mark.parametrize("row", [row for row in running_rows() if row.get("chain") in CASCADES])
def test_two_joins_in_a_row_give_up_the_rows_that_the_watermark_has_passed(
    row: dict[str, Any], played: Callable[[dict[str, Any]], Played]
) -> None:
    first = StreamJoin("inner")
    second = StreamJoin("inner", left=tuple(left for left, _ in first.pairs() if left))
    (full, kept), (full_behind, kept_behind) = first.state(), second.state()
    states = played(row).state[label(row)]
    assert (states[1], states[-1]) == (full + full_behind, kept + kept_behind)
    assert states[-1] < states[1]
