"""Each operator's rule for late rows, held against what Spark passes over.

A stream is run with all rows, and again without those that the rule calls late: the result is the
same, and Spark then passes over none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tidemill.spec.output import OutputMode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DDL = "at timestamp, key string, n int"
STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
BOUND = "l.key = r.key AND r.at BETWEEN l.at AND l.at + INTERVAL 5 MINUTES"
Row = dict[str, Any]
Transform = Callable[..., "DataFrame"]


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", STORE)
    spark.conf.set("spark.sql.streaming.queryEvolution.enableSourceEvolution", "true")
    spark.conf.set("spark.sql.streaming.offsetLog.formatVersion", "2")
    return spark


@dataclass(frozen=True)
class Played:
    """What came of a stream.

    Args:
        result: Its rows.
        watermarks: Batch -> the one in force, in milliseconds since the epoch.
        dropped: What Spark says that it passed over, of all operators and batches.
        late: What the rule calls late: batch -> the numbers of the rows.
    """

    result: list[Any]
    watermarks: dict[int, int]
    dropped: int
    late: dict[int, list[int]]


def rows(first: int, *times: str) -> list[Row]:
    """Rows by time and key, `12:01:00 a`, numbered."""
    return [
        {"at": f"2026-03-01T{time.split()[0]}Z", "key": time.split()[1], "n": first + number}
        for number, time in enumerate(times)
    ]


def arrivals(first: int = 0) -> list[list[Row]]:
    """Three batches. Rows are late from the third on, where the watermark is 12:20."""
    before_1970 = {"at": "1969-12-31T20:00:00Z", "key": "a", "n": first}
    return [
        [before_1970, *rows(first + 1, "12:01:00 a", "12:30:00 a")],
        rows(first + 10, "12:02:00 a", "12:31:00 b"),
        rows(first + 20, "12:05:00 g", "12:20:00 c", "12:20:00.001 d", "12:09:59 e", "12:26:00 a"),
    ]


def play(
    session: SparkSession,
    home: Path,
    transform: Transform,
    feeds: Mapping[str, Sequence[Sequence[Row]]],
    mode: OutputMode = OutputMode.APPEND,
) -> Played:
    """Run a stream over one file of each feed a batch, and ask the rule what was late."""
    from tidemill.engine.late.count import late_rows
    from tidemill.engine.late.operators import rule_of

    for name, batches in feeds.items():
        (home / name).mkdir(parents=True)
        for number, batch in enumerate(batches):
            file = home / name / f"{number}.json"
            file.write_text("".join(json.dumps(row) + "\n" for row in batch))
            os.utime(file, (1_700_000_000 + number,) * 2)

    def read(reader: Any, name: str, file: str = "") -> DataFrame:
        found: DataFrame = reader.schema(DDL).json(str(home / name / file))
        return found.withWatermark("at", "10 minutes")

    streams = {
        name: read(session.readStream.name(name).option("maxFilesPerTrigger", 1), name)
        for name in feeds
    }
    made = transform(**streams)
    table = f"late_{abs(hash(str(home)))}"
    writer = made.writeStream.outputMode(mode).format("memory").queryName(table)
    writer = writer.option("checkpointLocation", str(home / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    reports = [report for report in query.recentProgress if "addBatch" in report["durationMs"]]
    watermarks = dict(watermarks_in(home / "checkpoint" / "offsets"))
    rule = rule_of(made, mode)
    late = {}
    for number in range(3):
        again = {name: read(session.read, name, f"{number}.json") for name in feeds}
        if rule.drops:
            found = late_rows(transform(**again), rule, watermarks.get(number - 1, 0)).collect()
            late[number] = sorted(json.loads(row["record"])["n"] for row in found)
    result = sorted(session.table(table).collect(), key=str)
    session.catalog.dropTempView(table)
    dropped = sum(
        one["numRowsDroppedByWatermark"] for report in reports for one in report["stateOperators"]
    )
    return Played(result, watermarks, dropped, late)


def watermarks_in(offsets: Path) -> Iterator[tuple[int, int]]:
    for file in offsets.iterdir():
        if file.name.isdecimal():
            yield int(file.name), json.loads(file.read_text().split("\n")[1])["batchWatermarkMs"]


def windows(events: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return events.groupBy(F.window("at", "10 minutes"), "key").count()


def sliding(events: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return events.groupBy(F.window("at", "10 minutes", "5 minutes")).count()


def sessions(events: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return events.groupBy(F.session_window("at", "5 minutes"), "key").count()


def by_key(events: DataFrame) -> DataFrame:
    return events.dropDuplicates(["key"])


def by_key_alone(events: DataFrame) -> DataFrame:
    return events.dropDuplicates(["key"]).select("key")


def within_watermark(events: DataFrame) -> DataFrame:
    return events.dropDuplicatesWithinWatermark(["key"]).select("key")


def outer_join(left: DataFrame, right: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return left.alias("l").join(right.alias("r"), F.expr(BOUND), "leftouter")


def join_by_key(left: DataFrame, right: DataFrame) -> DataFrame:
    return left.alias("l").join(right.alias("r"), "key").select("key")


def united(left: DataFrame, right: DataFrame) -> DataFrame:
    return windows(left.dropDuplicates(["key", "at"]).union(right))


def own_state_in_pandas(events: DataFrame) -> DataFrame:
    import pandas as pd

    def keep(key: Any, chunks: Any, state: Any) -> Any:
        yield pd.DataFrame({"n": [int(n) for chunk in chunks for n in chunk["n"]]})

    schemas = ("n int", "seen int")
    return events.groupBy("key").applyInPandasWithState(
        keep, *schemas, "append", "EventTimeTimeout"
    )


def own_state(events: DataFrame) -> DataFrame:
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor

    class Keep(StatefulProcessor):
        def init(self, handle: Any) -> None:
            pass

        def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Any:  # noqa: N802
            yield from (Row(n=row.n) for row in rows)

        def close(self) -> None:
            pass

    return events.groupBy("key").transformWithState(Keep(), "n int", "append", "EventTime")


ONE = {"events": arrivals()}
TWO = {"left": arrivals(), "right": arrivals(100)}
WINDOWS_LATE = {0: [0], 1: [], 2: [20, 23]}
TIMES_LATE = {0: [0], 1: [], 2: [20, 21, 23]}


def of_both(late: dict[int, list[int]]) -> dict[int, list[int]]:
    return {batch: [*found, *(100 + n for n in found)] for batch, found in late.items()}


@pytest.mark.parametrize(
    ("transform", "feeds", "mode", "late"),
    [
        (windows, ONE, OutputMode.APPEND, WINDOWS_LATE),
        # A session that the row begins would end at 12:10 and at 12:25.
        (sessions, ONE, OutputMode.APPEND, WINDOWS_LATE),
        (sessions, ONE, OutputMode.COMPLETE, WINDOWS_LATE),
        (by_key, ONE, OutputMode.APPEND, TIMES_LATE),
        (within_watermark, ONE, OutputMode.APPEND, TIMES_LATE),
        (outer_join, TWO, OutputMode.APPEND, of_both(TIMES_LATE)),
        # The left rows meet the deduplication first, the right ones only the windows.
        (united, TWO, OutputMode.APPEND, {0: [0, 100], 1: [], 2: [20, 21, 23, 120, 123]}),
        (own_state_in_pandas, ONE, OutputMode.APPEND, TIMES_LATE),
        (own_state, ONE, OutputMode.APPEND, TIMES_LATE),
    ],
)
def test_what_the_rule_calls_late_and_nothing_else_is_passed_over(
    session: SparkSession,
    tmp_path: Path,
    transform: Transform,
    feeds: Mapping[str, Sequence[Sequence[Row]]],
    mode: OutputMode,
    late: dict[int, list[int]],
) -> None:
    with_all = play(session, tmp_path / "all", transform, feeds, mode)
    assert with_all.late == late
    numbers = {number for found in late.values() for number in found}
    rest = {
        name: [[row for row in batch if row["n"] not in numbers] for batch in batches]
        for name, batches in feeds.items()
    }
    without = play(session, tmp_path / "rest", transform, rest, mode)
    assert without.watermarks == with_all.watermarks
    assert without.result == with_all.result
    assert (without.dropped, with_all.dropped) == (0, len(numbers))


@pytest.mark.parametrize(("transform", "feeds"), [(by_key_alone, ONE), (join_by_key, TWO)])
def test_where_nobody_asks_for_the_event_time_no_row_is_late(
    session: SparkSession,
    tmp_path: Path,
    transform: Transform,
    feeds: Mapping[str, Sequence[Sequence[Row]]],
) -> None:
    played = play(session, tmp_path, transform, feeds)
    assert (played.late, played.dropped) == ({}, 0)


def test_a_row_is_late_for_one_sliding_window_and_in_time_for_the_next(
    session: SparkSession, tmp_path: Path
) -> None:
    feed = [*arrivals()[:2], rows(20, "12:16:00 a", "12:22:00 b"), rows(30, "14:00:00 z")]
    played = play(session, tmp_path, sliding, {"events": feed})
    # 12:10-12:20 is closed, 12:15-12:25 is not; before 1970 both are.
    assert played.late == {0: [0, 0], 1: [], 2: [20]}
    closed = sum(row["count"] for row in played.result)
    assert closed == 2 * (sum(len(batch) for batch in feed) - 1) - len([0, 0, 20])


def test_complete_and_keyed_results_pass_over_nothing(
    session: SparkSession, tmp_path: Path
) -> None:
    from pyspark.sql import functions as F

    from tidemill.engine.late.operators import rule_of

    stream = session.readStream.name("events").schema(DDL).json(str(tmp_path))
    events = stream.withWatermark("at", "10 minutes")
    assert rule_of(windows(events), OutputMode.COMPLETE).drops == ()
    assert rule_of(events.groupBy("key").count(), OutputMode.UPDATE).drops == ()
    by_expression = events.groupBy(F.lower("key")).count()
    assert rule_of(by_expression, OutputMode.UPDATE).drops == ()
    (drop,) = rule_of(windows(events), OutputMode.UPDATE).drops
    assert (drop.operator, drop.source) == ("Aggregate 0", "events")


def test_rows_united_with_joined_ones_go_by_a_watermark_that_nobody_can_tell(
    session: SparkSession, tmp_path: Path
) -> None:
    from pyspark.sql import functions as F

    from tidemill.engine.late.operators import rule_of

    left, right, more = (
        session.readStream.name(name).schema(DDL).json(str(tmp_path)).withWatermark("at", "1 hour")
        for name in ("left", "right", "more")
    )
    joined = left.alias("l").join(right.alias("r"), F.expr(BOUND)).select("l.at", "l.key", "l.n")
    assert rule_of(windows(joined), OutputMode.APPEND).unclear is None
    assert rule_of(windows(joined.union(more)), OutputMode.APPEND).unclear is not None


def shared_rows(events: DataFrame) -> DataFrame:
    """SQL that names its rows twice, beside windows of its own and static ones."""
    session = events.sparkSession
    events.createOrReplaceTempView("events")
    session.sql("SELECT 'a' AS key, 1 AS n").createOrReplaceTempView("known")
    return session.sql(
        """
        WITH fine AS (SELECT * FROM events WHERE n >= 0),
             once AS (SELECT DISTINCT at, key, n FROM fine),
             names AS (SELECT key AS name, count(*) AS times FROM known GROUP BY key)
        SELECT l.at, l.key, l.n, times
        FROM once l JOIN fine r ON l.key = r.key AND r.at BETWEEN l.at AND l.at + INTERVAL 1 HOUR
        LEFT JOIN names ON name = l.key
        """
    )


def test_rows_that_sql_shares_are_late_at_each_operator_that_they_meet_first(
    session: SparkSession, tmp_path: Path
) -> None:
    from pyspark.sql import functions as F

    from tidemill.engine.late.count import late_rows
    from tidemill.engine.late.operators import rule_of

    stream = session.readStream.name("events").schema(DDL).json(str(tmp_path))
    rule = rule_of(shared_rows(stream.withWatermark("at", "10 minutes")), OutputMode.APPEND)
    batch = session.createDataFrame(
        [("12:05:00", "a", 1), ("12:30:00", "a", 2)], "t string, key string, n int"
    )
    times = F.concat(F.lit("2026-03-01T"), "t", F.lit("Z")).cast("timestamp")
    made = shared_rows(batch.select(times.alias("at"), "key", "n"))
    found = late_rows(made, rule, 1_772_367_600_000).collect()
    late = [(row["operator"].split()[0], json.loads(row["record"])["n"]) for row in found]
    assert sorted(late) == [("Distinct", 1), ("Join", 1)]
    assert {row["source"] for row in found} == {"events"}
