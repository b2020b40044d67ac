"""Rows that are computed again over what was read: whole partitions, or batches."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.servers.kafka import Broker
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.kafka_pipeline import KafkaPipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.journal.recomputation import Recomputation
from tidemill.ledger.generation_note import hash_of_file, hash_of_spec
from tidemill.ledger.ledger import Ledger
from tidemill.spark_logs.offset_ranges import Range
from tidemill.spec.sources.kafka import KafkaSource
from tidemill.storage.run_context import RunContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidemill.engine.recompute.dry_run import DryRun
    from tidemill.engine.recompute.recompute import Recomputed

SPEC: dict[str, Any] = {
    "event_time": {"column": "at"},
    "row_rules": {"a_word": "word IS NOT NULL"},
    "output": {"partition_by": {"day": "to_date(at)"}},
    "gate": {"rejected": {"hold_above": 1}},
}
ROWS = """
from pyspark.sql import functions as F

def transform(events):
    return events.withColumn("length", F.length("word"))
"""


def flow_of(home: Path, **changes: Any) -> JsonPipeline:
    return JsonPipeline(home, {"events": "word string, at timestamp"}, {**SPEC, **changes}, ROWS)


def day(number: int) -> datetime:
    return datetime(2026, 3, number, tzinfo=UTC)


def recomputation(
    flow: JsonPipeline | KafkaPipeline, partitions: Any, **changes: Any
) -> Recomputation:
    batches = Ledger(flow.layout, FIRST_GENERATION).batches()
    known: dict[str, Any] = {
        "kind": "backfill",
        "generation": FIRST_GENERATION,
        "first": 0,
        "last": batches[-1].batch,
        "seq": 0,
        "partitions": partitions,
        "code_hash": hash_of_file(flow.pipeline.transform_file),
        "spec_hash": hash_of_spec(flow.pipeline.spec),
        "by": "ada",
        "reason": "test",
    }
    return Recomputation(**{**known, **changes})


def backfill(
    flow: JsonPipeline | KafkaPipeline,
    spark: SparkSession,
    start: datetime,
    end: datetime,
    said: list[str] | None = None,
    **changes: Any,
) -> Recomputed:
    from tidemill.engine.recompute.intervals import extent_of
    from tidemill.engine.recompute.recompute import recompute

    extent = extent_of(spark, flow.pipeline, start, end)
    asked = recomputation(flow, extent.partitions, **changes)
    log = (said if said is not None else []).append
    return recompute(spark, RunContext(flow.pipeline, "again", log), asked, extent)


def rows_of(
    flow: JsonPipeline | KafkaPipeline, found: Recomputed, *columns: str
) -> list[tuple[Any, ...]]:
    """The good rows that were computed, with their partitions, sorted."""
    ledger = Ledger(flow.layout, found.place.generation)
    (batch,) = ledger.batches(found.place.first, found.place.last)
    rows: list[tuple[Any, ...]] = []
    for file in batch.outputs:
        if not file.rejected:
            table = pq.ParquetFile(ledger.sink / file.path).read()
            for row in table.to_pylist():
                full = {**row, **file.partition}
                rows.append(tuple(full[name] for name in columns))
    return sorted(rows, key=repr)


def dry(flow: JsonPipeline, spark: SparkSession, start: datetime, end: datetime) -> DryRun:
    from tidemill.engine.recompute.dry_run import dry_run
    from tidemill.engine.recompute.intervals import extent_of

    extent = extent_of(spark, flow.pipeline, start, end)
    before = set(flow.layout.table.iterdir())
    run = RunContext(flow.pipeline, "dry", lambda _: None)
    found = dry_run(spark, run, recomputation(flow, extent.partitions), extent)
    assert set(flow.layout.table.iterdir()) == before
    return found


def arrive(flow: JsonPipeline, number: int, words: list[str | None]) -> Path:
    rows = [{"word": word, "at": f"2026-03-0{number}T10:00:00Z"} for word in words]
    return flow.arrive("events", f"day-{number}-{len(flow.batches)}", rows)


def test_row_by_row(tmp_path: Path, spark: SparkSession) -> None:
    from tidemill.engine.recompute.recompute import OutsidePrefix
    from tidemill.engine.sources.input_gone import InputGone

    flow = flow_of(tmp_path)
    arrive(flow, 1, ["x"])
    flow.go("first")
    second = arrive(flow, 2, ["tide", "mill", None])
    flow.go("second")
    third = flow.arrive_text(
        "events", "third", ['{"word": "sea", "at": "2026-03-02T23:00:00Z"}', "{"]
    )
    flow.go("third")
    published = flow.published("word", "length", "day")

    found = backfill(flow, spark, day(2), day(3))
    assert rows_of(flow, found, "word", "length") == [("mill", 4), ("sea", 3), ("tide", 4)]
    # The malformed line has no day, and stays where it is.
    assert (found.rows, found.rejected, found.inputs, found.input_rows) == (3, 1, 3, 6)
    assert found.recomputation.replaces_rejects_of is None
    assert flow.published("word", "length", "day") == published
    same = dry(flow, spark, day(2), day(3))
    assert (same.rows, same.added, same.removed, same.changed) == (3, 0, 0, 0)

    flow.write(ROWS.replace('F.length("word")', 'F.length("word") + 1'))
    found = backfill(flow, spark, day(2), day(3))
    assert rows_of(flow, found, "word", "length") == [("mill", 5), ("sea", 4), ("tide", 5)]
    other = dry(flow, spark, day(2), day(3))
    assert (other.added, other.removed, other.changed) == (3, 3, 0)
    flow.write(output={**SPEC["output"], "keys": ["word"]})
    keyed = dry(flow, spark, day(2), day(3))
    assert (keyed.added, keyed.removed, keyed.changed) == (0, 0, 3)

    with pytest.raises(OutsidePrefix):
        backfill(flow, spark, day(20), day(21))
    assert not [*flow.layout.table.glob("_backfill-*/day=2026-03-20")]

    third.write_text("{}")
    second.unlink()
    with pytest.raises(InputGone) as gone:
        backfill(flow, spark, day(1), day(2))
    assert [Path(path).stem for path in gone.value.data["files"]] == [second.stem, "third"]


def test_input_that_does_not_count_is_left_out(tmp_path: Path, spark: SparkSession) -> None:
    flow = flow_of(tmp_path)
    arrive(flow, 1, ["tide"])
    flow.go("first")
    arrive(flow, 1, ["wrong"])
    flow.go("second")
    wrong = flow.batches[1].inputs
    found = backfill(flow, spark, day(1), day(2), excludes=wrong)
    assert rows_of(flow, found, "word") == [("tide",)]
    assert (found.inputs, found.input_rows) == (1, 1)


def test_the_bound_of_lateness_decides_what_is_read(tmp_path: Path, spark: SparkSession) -> None:
    flow = flow_of(tmp_path)
    for number in (1, 2, 3, 4):
        file = arrive(flow, number, [f"of-{number}"])
        at = datetime(2026, 3, number, 12, tzinfo=UTC).timestamp()
        os.utime(file, (at, at))
        flow.step("ingest", f"day-{number}")
    flow.go("all")
    flow.write(backfill={"lateness": "1 day"})
    found = backfill(flow, spark, day(2), day(3))
    assert rows_of(flow, found, "word") == [("of-2",)]
    assert (found.inputs, found.skipped) == (2, 2)
    # That of the fourth says that it came much later than it did.
    said: list[str] = []
    late = [arrive(flow, 2, ["late"])]
    flow.step("ingest", "late")
    late.append(arrive(flow, 2, [None]))
    flow.step("ingest", "later")
    found = backfill(flow, spark, day(2), day(3), said=said)
    assert all(file.stat().st_mtime > day(5).timestamp() for file in late)
    assert rows_of(flow, found, "word") == [("late",), ("of-2",)]
    assert (found.rejected, found.inputs, found.skipped) == (1, 4, 2)
    assert [line for line in said if "batches 4, 5 wrote" in line]


def test_rows_in_another_format_than_parquet_are_found_and_compared(
    tmp_path: Path, spark: SparkSession
) -> None:
    flow = flow_of(
        tmp_path,
        output={"format": "csv", "partition_by": {"day": "to_date(at)"}},
        publish=[{"kind": "files"}],
        backfill={"lateness": "1 day"},
    )
    arrive(flow, 2, ["over\ntwo lines"])
    flow.step("ingest", "late")
    # Nothing but a rejected row says that this one has input of the day.
    arrive(flow, 2, [None])
    flow.step("ingest", "later")
    flow.go("all")
    found = dry(flow, spark, day(2), day(3))
    assert (found.rows, found.rejected, found.inputs) == (1, 1, 2)
    assert (found.added, found.removed, found.changed) == (0, 0, 0)


HOURS = """
from pyspark.sql import functions as F

def transform(events):
    hours = events.groupBy(F.window("at", "1 hour")).agg(F.count("*").alias("n"))
    return hours.select(F.col("window.start").alias("hour"), "n")
"""


def test_windows_are_computed_once_they_are_final_and_late_rows_of_them_count(
    tmp_path: Path, spark: SparkSession
) -> None:
    from tidemill.engine.recompute.finality import NotFinal

    flow = flow_of(
        tmp_path,
        event_time={"column": "at", "watermark": "1 hour"},
        output={"partition_by": {"day": "to_date(hour)"}},
    )
    flow.write(HOURS)
    for name, times in (
        ("first", ["01T10:00", "01T10:30", "01T12:00", "02T00:30"]),
        ("second", ["02T01:00"]),
        # The first of them comes too late for the stream.
        ("third", ["01T10:45", "02T12:00"]),
        ("fourth", ["02T13:00"]),
    ):
        flow.arrive("events", name, [{"word": "x", "at": f"2026-03-{at}:00Z"} for at in times])
    flow.go("live")
    assert [(at.hour, n) for at, n in flow.published("hour", "n")][:2] == [(10, 2), (12, 1)]
    found = backfill(flow, spark, day(1), day(2))
    rows = rows_of(flow, found, "hour", "n", "day")
    assert [(at.hour, n, day) for at, n, day in rows] == [
        (10, 3, "2026-03-01"),
        (12, 1, "2026-03-01"),
    ]
    changed = dry(flow, spark, day(1), day(2))
    assert (changed.added, changed.removed) == (1, 1)
    with pytest.raises(NotFinal) as early:
        backfill(flow, spark, day(2), day(3))
    assert early.value.data["watermark"] == datetime(2026, 3, 2, 12, tzinfo=UTC)
    assert early.value.data["final_at"] == day(3)
    assert early.value.data["rows_of"] == datetime(2026, 3, 3, 1, tzinfo=UTC)


def line(day: int, word: str, n: int | str) -> str:
    return json.dumps({"word": word, "at": f"2026-03-0{day}T10:00:00Z", "n": n})


@pytest.mark.remedy("RowsMove")
def test_rows_that_are_read_otherwise_by_now_move_or_are_refused(
    tmp_path: Path, spark: SparkSession
) -> None:
    from tidemill.engine.recompute.moved_rows import RowsMove

    flow = flow_of(tmp_path)
    flow.sources = {"events": "word string, at timestamp, n int"}
    flow.write()
    many = line(1, "many", "many")
    flow.arrive_text("events", "both", [line(1, "one", 1), many, line(2, "two", 2), "{"])
    flow.arrive_text("events", "second", [line(2, "few", "few")])
    flow.go("live")
    assert [batch.rejected for batch in flow.batches] == [2, 1]
    flow.sources = {"events": "word string, at timestamp, n string"}
    flow.write()
    found = backfill(flow, spark, day(1), day(2))
    assert rows_of(flow, found, "word") == [("many",), ("one",)]
    # The line that is not JSON was rejected from the same file, and still is.
    rejected = DeltaTable(flow.layout.rejected).to_pyarrow_table(columns=["file"])
    (origin,) = {name for name in rejected["file"].to_pylist() if name.endswith("both.json")}
    assert (found.rejected, found.recomputation.replaces_rejects_of) == (1, (origin,))
    # One row of this file belongs to another day.
    flow.arrive_text("events", "third", [line(3, "many", "many"), many, line(3, "ok", 1)])
    flow.sources = {"events": "word string, at timestamp, n int"}
    flow.write()
    flow.go("later")
    flow.sources = {"events": "word string, at timestamp, n string"}
    flow.write()
    with pytest.raises(RowsMove) as move:
        backfill(flow, spark, day(1), day(2))
    assert move.value.data["partitions"] == ["2026-03-03"]
    found = backfill(flow, spark, day(1), day(4))
    assert rows_of(flow, found, "word") == [
        (word,) for word in ("few", "many", "many", "many", "ok", "one", "two")
    ]


def test_records_are_read_again_while_the_topic_has_them(
    tmp_path: Path, broker: Broker, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tidemill.sources.kafka.held_records import RecordsGone, RecordsReplaced, verify_records

    mill = KafkaPipeline(tmp_path, broker, partitions=2, source={"maxOffsetsPerTrigger": 5})
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", mill.environ["AIRFLOW_CONN_TIDEMILL_KAFKA"])
    mill.produce_orders(0, 12)
    mill.run("first")
    # What comes after the last batch is not an input of any.
    mill.produce_orders(12, 6)
    found = backfill(mill, spark, day(2), day(3))
    ids = [name for (name,) in rows_of(mill, found, "id")]
    assert ids == sorted(f"o{number}" for number in range(12) if number % 3 == 1)
    assert found.input_rows == 12
    mill.broker.delete_records(mill.topic, 0, 1)
    with pytest.raises(RecordsGone) as gone:
        backfill(mill, spark, day(2), day(3))
    assert [one.split()[0] for one in gone.value.data["ranges"]] == [f"{mill.topic}/0"]
    compacted = f"{mill.topic}-compacted"
    broker.create_topic(compacted, 1, cleanup_policy="compact")
    source = mill.pipeline.spec.sources["orders"]
    assert isinstance(source, KafkaSource)
    some = Range(topic=compacted, partition=0, first=0, until=1)
    with pytest.raises(RecordsReplaced):
        verify_records(mill.layout, FIRST_GENERATION, "orders", source, [some], mill.environ)


def test_rows_are_joined_with_what_their_batches_were_joined_with(
    tmp_path: Path, spark: SparkSession
) -> None:
    prices = tmp_path / "prices"
    prices.mkdir()
    static = {"kind": "file", "format": "json", "path": str(prices), "schema": "word string, n int"}
    joined = "def transform(events, prices):\n    return events.join(prices, 'word')\n"
    flow = flow_of(tmp_path, statics={"prices": static})
    flow.write(joined)
    for number in (1, 2):
        (prices / f"{number}.json").write_text(json.dumps({"word": f"of-{number}", "n": number}))
        for name in range(1, number + 1):
            arrive(flow, 1, [f"of-{name}"])
            flow.step("ingest", f"{number}-{name}")
        if number == 1:
            arrive(flow, 1, ["of-2"])
            flow.step("ingest", "too-early")
    pins = {batch.static["prices"].identity for batch in flow.batches}
    assert len(pins) == 2
    found = backfill(flow, spark, day(1), day(2))
    assert rows_of(flow, found, "word", "n") == [("of-1", 1), ("of-1", 1), ("of-2", 2)]
    # One that no batch was joined with is taken as it is now.
    flow.write(
        joined.replace("events, prices", "events, prices, more"),
        statics={"prices": static, "more": static},
    )
    again = backfill(flow, spark, day(1), day(2))
    assert (again.rows, again.inputs) == (3, 4)
