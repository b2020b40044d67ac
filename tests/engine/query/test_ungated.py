"""Sinks of Spark's own: what reaches them, what does not, and what the ledger says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.pipelines.ungated_pipeline import COUNTS, IDENTITY, UngatedPipeline, noting
from tidemill.contract.report import Outcome
from tidemill.engine.query.kafka_columns import KafkaColumns
from tidemill.engine.query.refusals import ModeUnsupported
from tidemill.engine.sinks.sink_code import SinkCodeMissing

RULES = {"row_rules": {"positive": "number > 0"}}


def error(pipeline: UngatedPipeline) -> Any:
    """The error that an ingest ends with."""
    return pipeline.run("refused").error


def test_foreach_calls_a_function_with_each_good_row(tmp_path: Path, spark: SparkSession) -> None:
    code = IDENTITY + noting(tmp_path) + "def foreach(row):\n    note([row.word, row.number])\n"
    pipeline = UngatedPipeline(tmp_path, {"kind": "foreach"}, code, RULES)
    pipeline.deliver("a.csv", "one,1", "two,2", "minus,-1", "bad,x")
    report = pipeline.run("first")
    assert report.outcome is Outcome.DONE
    assert sorted(pipeline.notes()) == [["one", 1], ["two", 2]]


def test_rejected_rows_are_left_out_and_counted_by_reason(
    tmp_path: Path, spark: SparkSession
) -> None:
    code = IDENTITY + "def foreach_batch(rows, batch_id):\n    rows.count()\n"
    pipeline = UngatedPipeline(tmp_path, {"kind": "foreach_batch"}, code, RULES)
    pipeline.deliver("a.csv", "one,1", "minus,-1", "bad,x", "worse,y")
    facts = pipeline.run("first").facts
    (batch,) = pipeline.batches
    assert (batch.rows_in, batch.rows, batch.rejected) == (4, 1, 3)
    assert batch.reasons == {"malformed": 2, "rule positive": 1}
    assert batch.outputs == ()
    assert [Path(file.path).name for file in batch.inputs] == ["a.csv"]
    assert facts["rejected_by_reason"] == {"malformed": 2, "rule positive": 1}


def test_the_report_names_the_query_and_its_run(tmp_path: Path, spark: SparkSession) -> None:
    pipeline = UngatedPipeline(tmp_path, {"kind": "console"})
    pipeline.deliver("a.csv", "one,1")
    first = pipeline.run("first").facts
    pipeline.deliver("b.csv", "two,2")
    second = pipeline.run("second").facts
    assert first["query_id"] == second["query_id"]
    assert first["query_run_id"] != second["query_run_id"]
    assert (first["rows"], second["rows"]) == (1, 1)


def test_the_doctor_finds_no_other_work_than_input(tmp_path: Path, spark: SparkSession) -> None:
    pipeline = UngatedPipeline(tmp_path, {"kind": "console"})
    pipeline.deliver("a.csv", "one,1")
    assert pipeline.run("first", "doctor").outcome is Outcome.DONE
    pipeline.run("first")
    assert pipeline.run("second", "doctor").outcome is Outcome.SKIPPED


WRITER = """
class ForeachWriter:
    def open(self, partition, epoch):
        self.begun = {"epoch": epoch, "rows": [], "declined": epoch == 1}
        return epoch != 1

    def process(self, row):
        if row.word == "poison":
            raise ValueError("poison")
        self.begun["rows"].append(row.word)

    def close(self, error):
        note({**self.begun, "error": None if error is None else str(error)})
"""


def test_a_writer_may_decline_a_batch_and_is_closed_all_the_same(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = UngatedPipeline(tmp_path, {"kind": "foreach"}, IDENTITY + noting(tmp_path) + WRITER)
    for name in ("a", "b", "c"):
        pipeline.deliver(f"{name}.csv", f"{name},1")
        pipeline.run(name)
    assert [(one["epoch"], one["rows"], one["declined"]) for one in pipeline.notes()] == [
        (0, ["a"], False),
        (1, [], True),
        (2, ["c"], False),
    ]


def test_a_writer_is_closed_with_the_error_that_it_raised(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = UngatedPipeline(tmp_path, {"kind": "foreach"}, IDENTITY + noting(tmp_path) + WRITER)
    pipeline.deliver("a.csv", "fine,1", "poison,2", "never,3")
    report = pipeline.run("first")
    assert report.outcome is Outcome.FAILED
    (closed,) = pipeline.notes()
    assert (closed["rows"], closed["error"]) == (["fine"], "poison")
    assert pipeline.batches == []


TWO_PLACES = """
def foreach_batch(rows, batch_id):
    {before}
    note({{"batch": batch_id, "all": rows.count()}})
    note({{"batch": batch_id, "ones": rows.where("number = 1").count()}})
    {after}
"""


@pytest.mark.parametrize(
    ("sink", "before", "after"),
    [
        ({"kind": "foreach_batch"}, "rows.persist()", "rows.unpersist()"),
        ({"kind": "foreach_batch", "persist": True}, "pass", "pass"),
    ],
)
def test_a_persisted_batch_goes_to_several_places_and_is_read_once(
    tmp_path: Path, spark: SparkSession, sink: dict[str, Any], before: str, after: str
) -> None:
    code = IDENTITY + noting(tmp_path) + TWO_PLACES.format(before=before, after=after)
    pipeline = UngatedPipeline(tmp_path, sink, code)
    pipeline.deliver("a.csv", "one,1", "two,2", "one,1")
    pipeline.run("first")
    assert pipeline.notes() == [{"batch": 0, "all": 3}, {"batch": 0, "ones": 2}]
    (batch,) = pipeline.batches
    assert (batch.rows_in, batch.rows) == (3, 3)


def test_a_batch_that_is_not_kept_is_read_once_for_each_place(
    tmp_path: Path, spark: SparkSession
) -> None:
    code = IDENTITY + noting(tmp_path) + TWO_PLACES.format(before="pass", after="pass")
    pipeline = UngatedPipeline(tmp_path, {"kind": "foreach_batch"}, code)
    pipeline.deliver("a.csv", "one,1", "two,2")
    pipeline.run("first")
    assert pipeline.batches[0].rows_in == 4


def test_a_transform_may_use_its_rows_twice(tmp_path: Path, spark: SparkSession) -> None:
    code = "def transform(rows):\n    return rows.union(rows.where('number = 1'))\n"
    pipeline = UngatedPipeline(tmp_path, {"kind": "memory"}, code, RULES)
    pipeline.deliver("a.csv", "one,1", "two,2", "minus,-1")
    pipeline.run("first")
    assert sorted(row.word for row in spark.table("words").collect()) == ["one", "one", "two"]
    (batch,) = pipeline.batches
    assert (batch.rows_in, batch.rows, batch.reasons) == (3, 3, {"rule positive": 1})


def test_a_failing_function_fails_the_batch_which_comes_again(
    tmp_path: Path, spark: SparkSession
) -> None:
    fails = "def foreach_batch(rows, batch_id):\n    raise ValueError('down')\n"
    pipeline = UngatedPipeline(tmp_path, {"kind": "foreach_batch"}, IDENTITY + fails)
    pipeline.deliver("a.csv", "one,1")
    failed = pipeline.run("first")
    assert failed.outcome is Outcome.FAILED
    assert failed.error is not None
    assert {"query_id", "query_run_id"} <= failed.error["data"].keys()
    pipeline.code = IDENTITY + noting(tmp_path) + "def foreach_batch(rows, batch_id):\n"
    pipeline.code += "    note([batch_id, rows.count()])\n"
    pipeline.write()
    assert pipeline.run("second").outcome is Outcome.DONE
    assert pipeline.notes() == [[0, 1]]


@pytest.mark.parametrize(
    ("mode", "second"),
    [("update", [["a", 2], ["c", 1]]), ("complete", [["a", 2], ["b", 1], ["c", 1]])],
)
def test_foreach_batch_gets_what_the_output_mode_says(
    tmp_path: Path, spark: SparkSession, mode: str, second: list[Any]
) -> None:
    code = COUNTS + noting(tmp_path) + "def foreach_batch(rows, batch_id):\n"
    code += "    note(sorted([row.word, row['count']] for row in rows.collect()))\n"
    pipeline = UngatedPipeline(
        tmp_path, {"kind": "foreach_batch"}, code, {"output": {"mode": mode}}
    )
    pipeline.deliver("1.csv", "a,1", "b,1")
    pipeline.run("first")
    pipeline.deliver("2.csv", "a,1", "c,1")
    pipeline.run("second")
    assert pipeline.notes() == [[["a", 1], ["b", 1]], second]
    assert [batch.rows for batch in pipeline.batches] == [2, len(second)]


def test_a_memory_table_holds_all_there_is_however_often_it_is_run(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = UngatedPipeline(tmp_path, {"kind": "memory", "table": "seen"})
    pipeline.deliver("a.csv", "one,1")
    pipeline.run("first")
    assert spark.table("seen").count() == 1
    pipeline.deliver("b.csv", "two,2")
    assert pipeline.run("second").outcome is Outcome.DONE
    assert sorted(row.word for row in spark.table("seen").collect()) == ["one", "two"]
    assert [batch.batch for batch in pipeline.batches] == [0, 1]


def test_a_memory_table_of_the_whole_result_is_carried_on(
    tmp_path: Path, spark: SparkSession
) -> None:
    more = {"output": {"mode": "complete"}}
    pipeline = UngatedPipeline(tmp_path, {"kind": "memory"}, COUNTS, more)
    pipeline.deliver("1.csv", "a,1", "b,1")
    pipeline.run("first")
    pipeline.deliver("2.csv", "a,1")
    pipeline.run("second")
    counts = {row.word: row["count"] for row in spark.table("words").collect()}
    assert counts == {"a": 2, "b": 1}
    assert [batch.run_id for batch in pipeline.batches] == ["first", "second"]


@pytest.mark.parametrize(
    ("mode", "code"), [("complete", IDENTITY), ("append", COUNTS)], ids=["complete", "append"]
)
def test_a_mode_that_spark_does_not_run_is_refused_with_its_reason(
    tmp_path: Path, spark: SparkSession, mode: str, code: str
) -> None:
    pipeline = UngatedPipeline(tmp_path, {"kind": "console"}, code, {"output": {"mode": mode}})
    found = error(pipeline)
    assert found["code"] == ModeUnsupported.__name__
    assert found["data"]["field"] == "output.mode"
    assert "output mode" in found["data"]["reason"]


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("foreach", IDENTITY),
        ("foreach", IDENTITY + WRITER + "def foreach(row):\n    pass\n"),
        ("foreach", IDENTITY + "class ForeachWriter:\n    pass\n"),
        ("foreach_batch", IDENTITY),
    ],
    ids=["no foreach", "both", "no process", "no foreach_batch"],
)
def test_a_sink_without_its_code_is_refused(
    tmp_path: Path, spark: SparkSession, kind: str, code: str
) -> None:
    pipeline = UngatedPipeline(tmp_path, {"kind": kind}, code)
    assert error(pipeline)["code"] == SinkCodeMissing.__name__


def returning(columns: str) -> str:
    return f"def transform(rows):\n    return rows.selectExpr({columns})\n"


@pytest.mark.parametrize(
    ("sink", "columns", "blamed"),
    [
        ({"topic": "out"}, "'word'", ["value"]),
        ({"topic": "out"}, "'word AS value', 'number'", ["number"]),
        ({"topic": "out"}, "'word AS value', 'word AS topic'", ["topic"]),
        ({"topic": "out"}, "'number AS value'", ["value"]),
        ({}, "'word AS value'", ["topic"]),
    ],
)
def test_columns_that_kafka_does_not_take_are_refused(
    tmp_path: Path, spark: SparkSession, sink: dict[str, Any], columns: str, blamed: list[str]
) -> None:
    pipeline = UngatedPipeline(tmp_path, {"kind": "kafka", **sink}, returning(columns))
    found = error(pipeline)
    assert (found["code"], found["data"]["columns"]) == (KafkaColumns.__name__, blamed)
