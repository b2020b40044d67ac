"""A pipeline's query with any trigger, until it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.pipelines.ungated_pipeline import COUNTS, IDENTITY, UngatedPipeline
from tidemill.contract.report import Outcome, Report
from tidemill.engine.run.cores import TooFewCores
from tidemill.engine.run.options import Rows
from tidemill.engine.run.query_run import PlanRefused
from tidemill.engine.spark_errors import QueryFailed
from tidemill.generations.execution import ExecutionChanged
from tidemill.ledger.batch import Batch
from tidemill.ledger.running_queries import RunningQuery, running
from tidemill.spec.stream_trigger import TriggerUnsupported
from tidemill.steps.stream import NothingToShow

RATE = {"kind": "rate", "rowsPerSecond": 20, "numPartitions": 1}


class Watcher:
    """Stops a stream when it has seen enough, and keeps what it was shown."""

    def __init__(self, enough: Callable[[Watcher], object]) -> None:
        self._enough = enough
        self.batches: list[Batch] = []
        self.rows: list[Rows] = []

    def stop(self) -> str | None:
        return "enough" if self._enough(self) else None

    def show(self, batch: Batch, rows: Rows) -> None:
        self.batches.append(batch)
        self.rows.append(rows)

    @property
    def words(self) -> list[Any]:
        return sorted(row["word"] for rows in self.rows for row in rows)


@pytest.fixture
def files(tmp_path: Path) -> UngatedPipeline:
    """Three files of one line each, for a pipeline that publishes."""
    return three(UngatedPipeline(tmp_path, None))


def three(pipeline: UngatedPipeline) -> UngatedPipeline:
    for word in ("a", "b", "c"):
        pipeline.deliver(f"{word}.csv", f"{word},1")
    return pipeline


@pytest.mark.parametrize("trigger", ["default", "processing-time=1s"])
@pytest.mark.parametrize("sink", [None, {"kind": "foreach_batch"}])
def test_a_stream_waits_for_more_until_it_is_stopped(
    tmp_path: Path, spark: SparkSession, trigger: str, sink: dict[str, Any] | None
) -> None:
    code = IDENTITY + "def foreach_batch(rows, batch_id):\n    rows.count()\n"
    pipeline = three(UngatedPipeline(tmp_path, sink, code))
    arrived: list[str] = []

    def enough(watcher: Watcher) -> bool:
        if len(watcher.words) == 3 and not arrived:
            arrived.append("d")
            pipeline.deliver("d.csv", "d,1")
        return len(watcher.words) == 4

    watcher = Watcher(enough)
    report = pipeline.stream("first", trigger, stop=watcher.stop, show=watcher.show)
    assert report.outcome is Outcome.DONE
    assert report.facts["stopped"] == "enough"
    assert watcher.words == ["a", "b", "c", "d"]
    assert [batch.rows for batch in watcher.batches] == [1, 1, 1, 1]
    assert pipeline.logged == ([0, 1, 2, 3], [0, 1, 2, 3])


@pytest.mark.parametrize(("trigger", "batches"), [("available-now", 3), ("once", 1)])
def test_a_stream_may_end_by_itself(
    tmp_path: Path, spark: SparkSession, trigger: str, batches: int
) -> None:
    limit = {} if trigger == "once" else {"maxFilesPerTrigger": 1}
    source = {
        "kind": "file",
        "format": "csv",
        "path": str(tmp_path / "input"),
        "schema": "word string, number int",
        "options": {"header": False},
        **limit,
    }
    pipeline = three(UngatedPipeline(tmp_path, {"kind": "console"}, source=source))
    report = pipeline.stream("first", trigger)
    assert (report.outcome, report.facts["stopped"]) == (Outcome.DONE, None)
    assert len(report.facts["batches"]) == batches


def test_the_next_run_judges_what_a_stream_committed(
    spark: SparkSession, files: UngatedPipeline
) -> None:
    watcher = Watcher(lambda w: len(w.words) == 3)
    files.stream("first", "default", stop=watcher.stop, show=watcher.show)
    doctor = files.run("second", "doctor")
    assert [work["kind"] for work in doctor.facts["work"]] == ["seal"]


@pytest.mark.parametrize("format", ["json", "csv", "orc", "text"])
def test_rows_are_shown_whatever_the_format_of_their_files(
    tmp_path: Path, spark: SparkSession, format: str
) -> None:
    more = {"output": {"format": format}, "publish": [{"kind": "files"}]}
    code = "def transform(rows):\n    return rows.select('word')\n"
    pipeline = three(UngatedPipeline(tmp_path, None, code, more))
    watcher = Watcher(lambda _: False)
    report = pipeline.stream("first", "available-now", show=watcher.show)
    assert report.outcome is Outcome.DONE
    assert watcher.words == ["a", "b", "c"]


def test_rows_of_the_whole_result_are_shown(tmp_path: Path, spark: SparkSession) -> None:
    pipeline = three(UngatedPipeline(tmp_path, None, COUNTS, {"output": {"mode": "complete"}}))
    watcher = Watcher(lambda _: False)
    pipeline.stream("first", "available-now", show=watcher.show)
    assert [len(rows) for rows in watcher.rows] == [1, 2, 3]
    assert watcher.rows[-1][0].keys() == {"word", "count"}


def test_shown_rows_are_bounded_and_without_the_engines_columns(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = UngatedPipeline(tmp_path, {"kind": "console"})
    pipeline.deliver("a.csv", *(f"w{number},{number}" for number in range(9)))
    watcher = Watcher(lambda _: False)
    pipeline.stream("first", "available-now", show=watcher.show, limit=4)
    (rows,) = watcher.rows
    assert len(rows) == 4
    assert {tuple(row) for row in rows} == {("word", "number")}


def test_a_running_query_is_written_down_until_it_ends(
    spark: SparkSession, files: UngatedPipeline
) -> None:
    seen: list[RunningQuery] = []

    def enough(watcher: Watcher) -> bool:
        seen.extend(running(files.layout))
        # The plan of a query is asked for once it has been at work for a while.
        return len(watcher.batches) == 3 and seen[-1].plan is not None

    watcher = Watcher(enough)
    report = files.stream("first", "default", stop=watcher.stop, show=watcher.show)
    last = seen[-1]
    assert (last.pipeline, last.run_id, last.trigger) == ("words", "first", "default")
    ids = last.query_id, last.query_run_id
    assert ids == (report.facts["query_id"], report.facts["query_run_id"])
    assert (last.batches, last.last_batch, last.rows) == (3, 2, 3)
    assert last.rows_per_second is not None
    assert last.plan is not None
    assert "Physical Plan" in last.plan
    assert last.last_progress is not None
    assert running(files.layout) == []


# -- continuous -----------------------------------------------------------------------------------


def continuous(pipeline: UngatedPipeline, run_id: str = "first") -> Report:
    """A continuous query until it has committed a row more than before."""
    before = newest_value(pipeline)
    watcher = Watcher(lambda _: newest_value(pipeline) > max(before, 0))
    return pipeline.stream(run_id, "continuous=1s", stop=watcher.stop)


def newest_value(pipeline: UngatedPipeline) -> int:
    """How far the ledger's last epoch reaches."""
    epochs = pipeline.batches
    return int(epochs[-1].offsets["lines"]["0"]["value"]) if epochs else -1


@pytest.mark.parametrize("sink", ["memory", "console"])
def test_a_continuous_query_commits_epochs_and_goes_on_from_them(
    tmp_path: Path, spark: SparkSession, sink: str
) -> None:
    pipeline = UngatedPipeline(tmp_path, {"kind": sink}, source=RATE)
    first = continuous(pipeline)
    assert first.outcome is Outcome.DONE
    reached = newest_value(pipeline)
    assert pipeline.batches[-1].rows_in is None
    if sink == "memory":
        assert spark.table("words").count() > 0
        return
    second = continuous(pipeline, "second")
    assert second.outcome is Outcome.DONE
    assert second.facts["query_id"] == first.facts["query_id"]
    assert newest_value(pipeline) > reached


def refused(report: Report, error: type[Exception]) -> dict[str, Any]:
    """The data of the error that a report must have."""
    assert report.error is not None
    assert report.error["code"] == error.__name__
    data: dict[str, Any] = report.error["data"]
    return data


def test_a_checkpoint_stays_continuous(tmp_path: Path, spark: SparkSession) -> None:
    pipeline = UngatedPipeline(tmp_path, {"kind": "console"}, source=RATE)
    continuous(pipeline)
    refused(pipeline.run("second", "doctor"), ExecutionChanged)
    refused(pipeline.run("second"), ExecutionChanged)
    data = refused(pipeline.stream("third", "processing-time=1s"), ExecutionChanged)
    assert data["born"] == "a continuous query"


def test_an_aggregation_is_refused_as_spark_refuses_it(tmp_path: Path, spark: SparkSession) -> None:
    code = "def transform(lines):\n    return lines.groupBy('value').count()\n"
    more = {"output": {"mode": "update"}}
    pipeline = UngatedPipeline(tmp_path, {"kind": "console"}, code, more, source=RATE)
    refused(pipeline.stream("first", "continuous=1s"), PlanRefused)


@pytest.mark.remedy("ExecutionChanged")
def test_a_checkpoint_by_batches_stays_so(tmp_path: Path, spark: SparkSession) -> None:
    pipeline = UngatedPipeline(tmp_path, {"kind": "console"}, source=RATE)
    assert pipeline.run("first").outcome is Outcome.DONE
    refused(pipeline.stream("second", "continuous=1s"), ExecutionChanged)
    assert pipeline.run("third").outcome is Outcome.DONE


def test_fewer_cores_than_partitions_are_refused_with_both_numbers(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = UngatedPipeline(tmp_path, {"kind": "console"}, source={**RATE, "numPartitions": 5})
    data = refused(continuous(pipeline), TooFewCores)
    assert (data["partitions"], data["cores"]) == (5, 2)


def test_a_rejected_row_ends_a_continuous_query(tmp_path: Path, spark: SparkSession) -> None:
    more = {"row_rules": {"small": "value < 10"}}
    pipeline = UngatedPipeline(tmp_path, {"kind": "console"}, more=more, source=RATE)
    report = pipeline.stream("first", "continuous=1s")
    refused(report, QueryFailed)
    assert report.error is not None
    assert "rule small" in report.error["what"]


@pytest.mark.parametrize(
    "code",
    [
        "def transform(rows):\n    return rows.groupBy('value').count()\n",
        "def transform(rows):\n    return rows.union(rows)\n",
        "def transform(rows):\n    return rows.selectExpr('current_timestamp() AS now')\n",
    ],
    ids=["aggregate", "union", "clock"],
)
def test_a_transform_that_is_not_row_by_row_is_not_continuous(
    tmp_path: Path, spark: SparkSession, code: str
) -> None:
    more = {"output": {"mode": "update"}} if "groupBy" in code else {}
    pipeline = UngatedPipeline(tmp_path, {"kind": "console"}, code, more, RATE)
    report = continuous(pipeline)
    assert report.error is not None
    assert "Continuous processing does not support" in report.error["what"]
    assert not report.error["transient"]


def test_what_is_refused_starts_nothing(tmp_path: Path) -> None:
    pipeline = three(UngatedPipeline(tmp_path, None))
    assert refused(continuous(pipeline), TriggerUnsupported)["at"] == "publish"
    assert refused(pipeline.stream("second", "real-time=5s"), TriggerUnsupported)["at"] == "publish"
    assert not pipeline.layout.lease.exists()


def test_a_continuous_query_has_no_rows_to_show(tmp_path: Path) -> None:
    pipeline = UngatedPipeline(tmp_path, {"kind": "memory"}, source=RATE)
    watcher = Watcher(lambda _: True)
    report = pipeline.stream("first", "continuous=1s", show=watcher.show)
    assert refused(report, NothingToShow)["sink"] == "memory"
