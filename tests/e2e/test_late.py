"""Late rows, counted and kept: by batch, also where a driver died before anybody looked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.windowed_words import COUNTS, SPEC, at, windows
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome
from tidemill.ledger.late_rows import LateLog
from tidemill.reporting.pipeline_status import read_status


def log_of(flow: JsonPipeline) -> LateLog:
    return LateLog(flow.layout, FIRST_GENERATION)


def late(flow: JsonPipeline) -> dict[int, int | None]:
    return {found.batch: found.rows for found in log_of(flow).read()}


def test_late_rows_are_counted_one_by_one_and_kept(tmp_path: Path, spark: object) -> None:
    flow = windows(tmp_path)
    flow.arrive("events", "a", [at("12:01"), at("12:30")])
    flow.go("first")
    # In the state's batch no row is late that is not before its end: 12:20 is the watermark.
    flow.arrive("events", "b", [at("12:03"), at("12:04"), at("12:19", "mill"), at("12:21")])
    reports = flow.run("second")
    facts = reports["ingest"].facts
    (batch,) = facts["late"]["batches"]
    assert facts["late"] == {"rows": 3, "batches": {batch: 3}, "unknown": []}
    # Spark counts two groups.
    (operator,) = facts["state"]["operators"]
    assert operator["numRowsDroppedByWatermark"] == 2
    assert (operator["name"], operator["rows"]) == ("stateStoreSave", 2)
    assert operator["disk_bytes"] is not None
    assert set(late(flow)) == {one.batch for one in flow.batches}
    rows = log_of(flow).rows([int(batch)], limit=10)
    found = sorted((json.loads(row["record"])["at"], row["source"]) for row in rows)
    assert [time[11:16] for time, _ in found] == ["12:03", "12:04", "12:19"]
    assert {row["source"] for row in rows} == {"events"}
    assert {f"{row['watermark']:%H:%M}" for row in rows} == {"12:20"}
    assert read_status(flow.layout).late == 3
    # None of them is in a result.
    flow.arrive("events", "c", [at("14:00")])
    flow.go("third")
    counts = [count for (count,) in flow.published("count")]
    assert sum(counts) == 3


def test_a_batch_of_a_driver_that_died_is_looked_at_by_the_next(
    tmp_path: Path, spark: object
) -> None:
    flow = windows(tmp_path)
    flow.arrive("events", "a", [at("12:01"), at("12:30")])
    flow.go("first")
    flow.arrive("events", "b", [at("12:03")])
    flow.go("second")
    before = late(flow)
    assert sum(rows or 0 for rows in before.values()) == 1
    # As if it had died before it looked.
    shutil.rmtree(log_of(flow).folder)
    flow.arrive("events", "c", [at("12:31")])
    reports = flow.run("third")
    assert reports["ingest"].facts["late"]["rows"] == 1
    assert {batch: late(flow)[batch] for batch in before} == before


def test_a_batch_that_only_the_sink_knew_is_looked_at_all_the_same(
    tmp_path: Path, spark: object
) -> None:
    flow = windows(tmp_path)
    flow.arrive("events", "a", [at("12:01"), at("12:30")])
    flow.go("first")
    flow.arrive("events", "b", [at("12:03"), at("12:21")])
    assert flow.step("ingest", "second").outcome is Outcome.DONE
    # As if it had died before it committed: the sink passes over the batch, and Spark reports of
    # it that nothing was read.
    last = flow.batches[-1].batch
    commit = flow.layout.checkpoint(FIRST_GENERATION) / "commits" / str(last)
    for file in (
        *(commit, commit.with_name(f".{last}.crc")),
        *(flow.layout.ledger(FIRST_GENERATION) / f"{last:06d}.json", log_of(flow).document(last)),
    ):
        file.unlink()
    shutil.rmtree(log_of(flow).rows_of(last))
    flow.go("third")
    assert (flow.batches[-1].batch, flow.batches[-1].rows_in) == (last, None)
    assert late(flow)[last] == 1


def test_of_input_that_is_gone_nobody_can_tell(tmp_path: Path, spark: object) -> None:
    flow = windows(tmp_path)
    flow.arrive("events", "a", [at("12:01"), at("12:30")])
    flow.go("first")
    gone = flow.arrive("events", "b", [at("12:03")])
    flow.go("second")
    (batch,) = [number for number, rows in late(flow).items() if rows]
    shutil.rmtree(log_of(flow).folder)
    gone.unlink()
    flow.arrive("events", "c", [at("12:31")])
    facts = flow.run("third")["ingest"].facts
    assert facts["late"] == {"rows": 0, "batches": {}, "unknown": [batch]}
    assert late(flow)[batch] is None


def test_late_rows_of_updated_results_are_counted_too(tmp_path: Path, spark: object) -> None:
    output = {"mode": "update", "keys": ["start", "word"], "partition_by": {}}
    flow = JsonPipeline(
        tmp_path,
        {"events": "at timestamp, word string"},
        {**SPEC, "output": output},
        COUNTS.replace(".count()", '.count().select("window.start", "word", "count")'),
    )
    flow.arrive("events", "a", [at("12:01"), at("12:30")])
    flow.step("ingest", "first")
    flow.arrive("events", "b", [at("12:03"), at("12:04"), at("12:31")])
    facts = flow.step("ingest", "second").facts
    assert facts["late"]["rows"] == 2
    (operator,) = facts["state"]["operators"]
    assert operator["numRowsDroppedByWatermark"] == 1


MEETINGS = """
from pyspark.sql import functions as F


def transform(seen, heard):
    near = F.expr("heard.at BETWEEN seen.at AND seen.at + INTERVAL 5 MINUTES")
    both = seen.alias("seen").join(heard.alias("heard"), (F.expr("seen.word = heard.word")) & near)
    return both.select("seen.*")
"""


def test_one_source_that_is_in_time_hides_no_late_row_of_another(
    tmp_path: Path, spark: object
) -> None:
    ddl = "at timestamp, word string"
    spec = {"event_time": SPEC["event_time"]}
    flow = JsonPipeline(tmp_path, {"seen": ddl, "heard": ddl}, spec, MEETINGS)
    for source in ("seen", "heard"):
        flow.arrive(source, f"{source}-1", [at("12:30")])
    flow.go("first")
    flow.arrive("seen", "seen-2", [at("12:31")])
    flow.arrive("heard", "heard-2", [at("12:01"), at("12:31")])
    flow.go("second")
    flow.arrive("seen", "seen-3", [at("12:02"), at("12:32")])
    flow.arrive("heard", "heard-3", [at("12:32")])
    flow.go("third")
    found = [(count.source, count.rows) for one in log_of(flow).read() for count in one.counts]
    assert found == [("heard", 1), ("seen", 1)]
