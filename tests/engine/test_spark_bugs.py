"""Spark's known wrong results, each shown in plain Spark.

Where a test of what goes wrong fails, this version of Spark has fixed it: take what Tidemill does
about it out, and its row out of `toolchain/spark_bugs.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.support.random_joins import RandomJoin
from tidemill.engine.query.join_times import (
    JoinBoundInexact,
    JoinTimeUnwatermarked,
    refuse_early_drops,
)
from tidemill.toolchain.spark_conf import STATE

PATH = Path("transform.py")
ROCKSDB = f"{STATE}.RocksDBStateStoreProvider"


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """A session with Spark's own settings, whatever a test sets in it."""
    return spark.newSession()


def at(time: str) -> str:
    return f"2026-03-01 {time}:00"


def write(folder: Path, side: str, *batches: list[dict[str, Any]]) -> None:
    (folder / side).mkdir()
    for number, rows in enumerate(batches):
        path = folder / side / f"{number}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (1_700_000_000 + number,) * 2)


def order(k: int, time: str, due: str) -> dict[str, Any]:
    return {"k": k, "at": at(time), "due": at(due)}


def click(k: int, of: str, then: str) -> dict[str, Any]:
    return {"k2": k, "of": at(of), "then": at(then)}


@pytest.mark.parametrize("how", ["inner", "left", "left_semi"])
def test_a_join_by_another_time_than_the_watermarks_loses_rows(
    session: SparkSession, tmp_path: Path, how: str
) -> None:
    first = [order(1, "12:00", "15:00"), order(9, "14:10", "17:00")]
    # Spark drops at the end of the second batch, by the watermark of the first.
    write(tmp_path, "left", first, [order(9, "14:11", "17:00")], [order(9, "14:20", "17:00")])
    clicks = [click(8, "14:10", "14:10")], [click(8, "14:11", "14:11")]
    write(tmp_path, "right", *clicks, [click(1, "14:10", "15:10")])
    refused_and_wrong(
        RandomJoin("then BETWEEN due AND due + INTERVAL 30 MINUTES", how), session, tmp_path, "due"
    )


@pytest.mark.parametrize("how", ["inner", "left", "left_semi"])
def test_a_join_by_an_equal_time_without_a_watermark_on_one_side_loses_rows(
    session: SparkSession, tmp_path: Path, how: str
) -> None:
    first = [order(1, "12:00", "12:00"), order(9, "12:30", "12:30")]
    write(tmp_path, "left", first, [order(9, "12:30", "12:30")], [order(9, "12:31", "12:31")])
    clicks = [click(8, "12:20", "12:30")], [click(8, "12:20", "12:31")]
    write(tmp_path, "right", *clicks, [click(1, "12:00", "12:45")])
    refused_and_wrong(RandomJoin("at = of", how), session, tmp_path, "of")


def refused_and_wrong(join: RandomJoin, session: SparkSession, folder: Path, column: str) -> None:
    with pytest.raises(JoinTimeUnwatermarked) as refused:
        refuse_early_drops(join.frame(session, folder, stream=True), PATH)
    assert refused.value.columns == [column]
    matched = {row for row in join.at_once(session, folder) if '"k":1' in row}
    assert len(matched) == 1
    assert not matched & {*(join.in_batches(session, folder, folder / "checkpoint") or ())}


def test_a_join_over_a_day_of_25_hours_loses_rows_of_the_last_one(
    session: SparkSession, tmp_path: Path
) -> None:
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    # The clocks go back in the night: from noon to noon there are 25 hours.
    one, two = "2026-10-24", "2026-10-25"
    first = [{"k": 1, "at": f"{one} 12:00:00"}, {"k": 9, "at": f"{two} 11:50:00"}]
    more = ([{"k": 9, "at": f"{two} 11:5{n}:00"}] for n in (1, 2))
    write(tmp_path, "left", first, *more)
    clicks = ((8, "50"), (8, "51"), (1, "55"))
    right = ([{"k2": k2, "then": f"{two} 11:{minute}:00"}] for k2, minute in clicks)
    write(tmp_path, "right", *right)
    join = RandomJoin(
        "then BETWEEN at AND at + INTERVAL 1 DAY", left=("k", "at"), right=("k2", "then")
    )
    with pytest.raises(JoinBoundInexact):
        refuse_early_drops(join.frame(session, tmp_path, stream=True), PATH)
    assert join.at_once(session, tmp_path).total() == 1
    found = join.in_batches(session, tmp_path, tmp_path / "checkpoint")
    assert found is not None
    assert found.total() == 0


def test_an_interval_that_is_added_twice_counts_twice(
    session: SparkSession, tmp_path: Path
) -> None:
    first = [order(1, "12:00", "12:00"), order(9, "12:23", "12:23")]
    write(tmp_path, "left", first, [order(9, "12:24", "12:24")], [order(9, "12:26", "12:26")])
    clicks = [click(8, "12:23", "12:23")], [click(8, "12:24", "12:24")]
    write(tmp_path, "right", *clicks, [click(1, "12:19", "12:19")])
    twenty = "INTERVAL 10 MINUTES + INTERVAL 10 MINUTES"
    join = RandomJoin(f"then BETWEEN at AND at + {twenty}")
    refuse_early_drops(join.frame(session, tmp_path, stream=True), PATH)
    matched = join.at_once(session, tmp_path)
    assert matched.total() == 1
    assert join.in_batches(session, tmp_path, tmp_path / "checkpoint") == matched


def test_the_mode_of_a_binary_column_is_its_most_frequent_value(session: SparkSession) -> None:
    values = [(key, f"{value}".encode()) for key in range(10) for value in (1, 2, 2, 3, 2, 4, 5)]
    rows = session.createDataFrame(values, "k int, v binary").repartition(2)
    modes = rows.groupBy("k").agg(F.mode("v").cast("string").alias("mode")).collect()
    assert {row.mode for row in modes} == {"2"}


def test_a_second_object_on_a_line_of_json_is_ignored(
    session: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text('{"n": 1}{"n": 2}\n')
    rows = session.read.schema("n int, _corrupt string").option(
        "columnNameOfCorruptRecord", "_corrupt"
    )
    assert [tuple(row) for row in rows.json(str(tmp_path)).collect()] == [(1, None)]


def played(rows: DataFrame, checkpoint: Path, mode: str = "append") -> None:
    """Run a query over all that is there."""
    writer = rows.writeStream.format("noop").outputMode(mode).trigger(availableNow=True)
    writer.option("checkpointLocation", str(checkpoint)).start().awaitTermination()


def counted_union(session: SparkSession, folder: Path) -> DataFrame:
    one, two = (session.readStream.schema("k int").json(str(folder / s)) for s in ("left", "right"))
    return one.dropDuplicates(["k"]).union(two.dropDuplicates(["k"])).groupBy("k").count()


def test_state_above_a_union_of_states_needs_a_setting(
    session: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path, "left", [{"k": k} for k in range(8)])
    write(tmp_path, "right", [{"k": k} for k in range(3)])
    session.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    session.conf.set("spark.sql.shuffle.partitions", "3")
    session.conf.set("spark.sql.unionOutputPartitioning", "true")
    with pytest.raises(StreamingQueryException):
        played(counted_union(session, tmp_path), tmp_path / "fails", "update")
    session.conf.set("spark.sql.unionOutputPartitioning", "false")
    seen: dict[int, int] = {}
    keep: Callable[[DataFrame, int], None] = lambda rows, _: seen.update(  # noqa: E731
        {row["k"]: row["count"] for row in rows.collect()}
    )
    query = counted_union(session, tmp_path).writeStream.foreachBatch(keep).outputMode("update")
    query = query.option("checkpointLocation", str(tmp_path / "runs")).trigger(availableNow=True)
    query.start().awaitTermination()
    assert seen == {k: 2 if k < 3 else 1 for k in range(8)}


def test_a_query_that_was_killed_within_a_batch_starts_again(
    session: SparkSession, tmp_path: Path
) -> None:
    session.conf.set("spark.sql.streaming.offsetLog.formatVersion", "2")
    session.conf.set("spark.sql.streaming.queryEvolution.enableSourceEvolution", "true")
    session.conf.set("spark.sql.streaming.checkUnfinishedRepartitionOnRestart", "true")
    write(tmp_path, "left", [{"k": 1}])
    checkpoint = tmp_path / "checkpoint"
    rows = session.readStream.name("rows").schema("k int").json(str(tmp_path / "left"))
    played(rows.dropDuplicates(["k"]), checkpoint)
    for path in (checkpoint / "commits").iterdir():
        path.unlink()
    played(rows.dropDuplicates(["k"]), checkpoint)
    assert (checkpoint / "commits" / "0").exists()


def test_avro_fields_that_are_matched_by_position_keep_their_values(
    session: SparkSession, tmp_path: Path
) -> None:
    written = session.range(1).selectExpr("1 AS a", "2 AS b", "3 AS c")
    written.write.format("avro").save(str(tmp_path / "rows"))
    reader = session.read.format("avro").schema("x int, y int, z int")
    rows = reader.option("positionalFieldMatching", "true").load(str(tmp_path / "rows"))
    assert rows.first() == (1, 2, 3)
    assert rows.select("y").first() == (2,)
    assert rows.select("z", "y").first() == (3, 2)


def test_avro_of_another_type_is_read_as_something_else(
    session: SparkSession, tmp_path: Path
) -> None:
    written = session.sql(
        "SELECT 1.25BD AS money, DATE'2026-03-01' AS day, 20513 AS number, 20513L * 86400000 AS at,"
        " named_struct('days', map('a', array(DATE'2026-03-01'))) AS inner"
    )
    written.write.format("avro").save(str(tmp_path / "rows"))
    reader = session.read.format("avro").schema(
        "money decimal(10,1), day int, number date, at timestamp,"
        " inner struct<days: map<string, array<int>>>"
    )
    row = reader.load(str(tmp_path / "rows")).selectExpr(
        "string(money)", "day", "string(number)", "string(to_date(at))", "inner.days['a'][0]"
    )
    assert row.first() == ("1.3", 20513, "2026-03-01", "2026-03-01", 20513)


def test_equal_maps_of_another_order_are_counted_twice(session: SparkSession) -> None:
    maps = "SELECT map('a', 1, 'b', 2) AS m UNION ALL SELECT map('b', 2, 'a', 1)"
    (counted,) = session.sql(f"SELECT count(DISTINCT m) FROM ({maps})").collect()
    assert counted[0] == 2


def test_a_python_function_gets_times_in_the_zone_of_the_machine(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(session.sparkContext.environment, "TZ", "America/New_York")
    session.conf.set("spark.sql.session.timeZone", "UTC")
    hour = F.udf(lambda at: at.hour, "int")
    noon = session.sql("SELECT timestamp'2026-07-01 12:00:00' AS at")
    assert noon.select(hour("at")).first() == (8,)


def test_a_function_without_arrow_gives_out_the_address_of_bytes(session: SparkSession) -> None:
    row = session.range(1)
    plain, arrow = (
        F.udf(lambda _: b"tide", "string", useArrow=with_arrow)("id")
        for with_arrow in (False, True)
    )
    ((address, text),) = row.select(plain, arrow).collect()
    assert (address[:3], text) == ("[B@", "b'tide'")


def test_a_pandas_function_moves_times_before_the_clocks_go_back(session: SparkSession) -> None:
    session.conf.set("spark.sql.session.timeZone", "Europe/London")
    seconds = [1_792_888_200, 1_792_891_800]
    times = session.createDataFrame([(one,) for one in seconds], "at long")
    times = times.select(F.timestamp_seconds("at").alias("at"))

    def same(parts: Iterator[Any]) -> Iterator[Any]:
        yield from parts

    def found(rows: DataFrame) -> list[int]:
        return sorted(row[0] for row in rows.select(F.unix_seconds("at")).collect())

    assert found(times.mapInPandas(same, "at timestamp")) == [seconds[1]] * 2
    assert found(times.mapInArrow(same, "at timestamp")) == seconds


def test_rows_that_are_read_for_a_sample_are_counted_twice(
    session: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path, "left", [{"k": k} for k in range(20)])
    rows = session.readStream.schema("k int").json(str(tmp_path / "left"))
    sampled = rows.observe("seen", F.count(F.lit(1)).alias("rows")).repartitionByRange(2, "k")
    writer = sampled.writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.awaitTermination()
    (report,) = query.recentProgress
    assert (report["numInputRows"], report["observedMetrics"]["seen"].rows) == (40, 40)


@pytest.mark.parametrize(("columns", "read"), [(5, 2), (120, 0)])
def test_rows_that_meet_an_empty_table_are_not_read_in_a_wide_plan(
    session: SparkSession, tmp_path: Path, columns: int, read: int
) -> None:
    write(tmp_path, "left", [{"k": 1, "at": at("12:00")}, {"k": 2, "at": at("12:01")}])
    write(tmp_path, "right")
    names = "".join(f", c{n} int" for n in range(columns))
    schema = f"k int, at timestamp{names}"
    rows = session.readStream.schema(schema).json(str(tmp_path / "left"))
    timed = rows.withWatermark("at", "1 minute").observe("seen", F.count(F.lit(1)).alias("rows"))
    table = session.read.schema("k int").json(str(tmp_path / "right"))
    writer = timed.join(F.broadcast(table), "k").writeStream.format("noop").trigger(once=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.awaitTermination()
    (report,) = query.recentProgress
    assert (report["numInputRows"], report["observedMetrics"]["seen"].rows) == (read, read)
    assert ("max" in report["eventTime"]) == bool(read)
