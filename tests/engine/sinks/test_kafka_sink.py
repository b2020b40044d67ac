"""Spark's Kafka sink against a real broker, and the triggers that only Kafka has."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.servers.kafka import Broker
from tests.servers.kafka_client import Record
from tests.steps.test_stream import refused
from tests.support.pipelines.ungated_pipeline import COUNTS, IDENTITY, UngatedPipeline, noting
from tidemill.contract.report import Outcome
from tidemill.engine.run.cores import TooFewCores
from tidemill.ledger.running_queries import running
from tidemill.steps.stream import explain


@pytest.fixture
def topic(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A topic of the test's own, to read from or to write to."""
    connection = {"conn_type": "kafka", "extra": broker.settings()}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", json.dumps(connection))
    broker.create_topic(tmp_path.name)
    return tmp_path.name


def source(topic: str, **options: Any) -> dict[str, Any]:
    return {"kind": "kafka", "subscribe": topic, "value": {"format": "text"}, **options}


def values(broker: Broker, topic: str) -> list[Any]:
    return [json.loads(message.value()) for message in broker.records(topic)]


def test_rows_reach_a_topic_with_key_and_headers(
    tmp_path: Path, spark: SparkSession, broker: Broker, topic: str
) -> None:
    code = """
def transform(rows):
    header = "array(named_struct('key', 'of', 'value', cast(word AS binary))) AS headers"
    return rows.selectExpr("word AS key", "cast(number AS string) AS value", header)
"""
    sink = {"kind": "kafka", "topic": topic, "options": {"includeHeaders": True}}
    pipeline = UngatedPipeline(tmp_path, sink, code)
    pipeline.deliver("a.csv", "one,1", "bad,x")
    report = pipeline.run("first")
    (message,) = broker.records(topic)
    assert (message.key(), message.value()) == (b"one", b"1")
    assert message.headers() == [("of", b"one")]
    assert (report.facts["rows"], report.facts["rejected_by_reason"]) == (1, {"malformed": 1})


def test_a_column_may_name_the_topic(
    tmp_path: Path, spark: SparkSession, broker: Broker, topic: str
) -> None:
    broker.create_topic(f"{topic}-2")
    code = f"""
def transform(rows):
    topic = "if(number = 1, '{topic}', '{topic}-2') AS topic"
    return rows.selectExpr("to_json(named_struct('word', word)) AS value", topic)
"""
    pipeline = UngatedPipeline(tmp_path, {"kind": "kafka"}, code)
    pipeline.deliver("a.csv", "one,1", "two,2", "one,1")
    pipeline.run("first")
    assert values(broker, topic) == [{"word": "one"}] * 2
    assert values(broker, f"{topic}-2") == [{"word": "two"}]


@pytest.mark.parametrize(
    ("mode", "second"), [("update", ["a 2"]), ("complete", ["a 2", "b 1"])], ids=str
)
def test_counts_reach_a_topic_as_the_output_mode_says(
    tmp_path: Path,
    spark: SparkSession,
    broker: Broker,
    topic: str,
    mode: str,
    second: list[str],
) -> None:
    code = COUNTS.replace(".count()", ".count().selectExpr(\"concat(word, ' ', count) AS value\")")
    more = {"output": {"mode": mode}}
    pipeline = UngatedPipeline(tmp_path, {"kind": "kafka", "topic": topic}, code, more)
    pipeline.deliver("1.csv", "a,1", "b,1")
    pipeline.run("first")
    pipeline.deliver("2.csv", "a,1")
    pipeline.run("second")
    found = [message.value().decode() for message in broker.records(topic)]
    assert sorted(found[:2]) == ["a 1", "b 1"]
    assert sorted(found[2:]) == second


def test_a_budget_bounds_a_run_over_kafka(
    tmp_path: Path, spark: SparkSession, broker: Broker, topic: str
) -> None:
    broker.produce(topic, [Record(None, str(number)) for number in range(5)])
    limited = source(topic, maxOffsetsPerTrigger=2)
    more = {"budget": {"max_batches": 2}}
    pipeline = UngatedPipeline(tmp_path, {"kind": "console"}, more=more, source=limited)
    first = pipeline.run("first").facts
    assert (first["batches"], first["stopped"]) == ([0, 1], "budget.max_batches")
    assert (first["left"]["lines"]["new"], first["left"]["lines"]["unit"]) == (1, "records")
    assert pipeline.logged == ([0, 1], [0, 1])
    second = pipeline.run("second").facts
    assert (second["rows"], second["stopped"]) == (1, None)


def test_nothing_that_is_written_of_a_running_query_shows_its_login(
    tmp_path: Path,
    spark: SparkSession,
    broker: Broker,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    login = {"conn_type": "kafka", "extra": broker.settings("SASL_PLAINTEXT")}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", json.dumps(login))
    broker.create_topic(f"{topic}-out")
    broker.produce(topic, [Record(None, "1")])
    sink = {"kind": "kafka", "topic": f"{topic}-out"}
    pipeline = UngatedPipeline(tmp_path, sink, source=source(topic))
    written: list[str] = []

    def stop() -> str | None:
        queries = running(pipeline.layout)
        written.extend(query.model_dump_json() for query in queries)
        return "enough" if any(query.plan for query in queries) else None

    assert pipeline.stream("first", "default", stop=stop).outcome is Outcome.DONE
    assert "Physical Plan" in written[-1]
    planned = explain(pipeline.pipeline)
    # A plan that is not started names the options, and shows not their values.
    assert "kafka.sasl.jaas.config" in planned
    written.append(planned)
    assert not any(broker.password in text for text in written)
    files = [path for path in pipeline.root.rglob("*") if path.is_file()]
    assert not any(broker.password.encode() in path.read_bytes() for path in files)


# -- triggers -------------------------------------------------------------------------------------


def committed(pipeline: UngatedPipeline, epochs: int = 1) -> Callable[[], str | None]:
    """Stops a query that has committed so much."""

    def stop() -> str | None:
        enough = any(query.batches >= epochs for query in running(pipeline.layout))
        return "enough" if enough else None

    return stop


def test_continuous_from_topic_to_topic_at_least_once(
    tmp_path: Path, spark: SparkSession, broker: Broker, topic: str
) -> None:
    broker.create_topic(f"{topic}-out")
    broker.produce(topic, [Record(None, "1"), Record(None, "2")])
    sink = {"kind": "kafka", "topic": f"{topic}-out"}
    pipeline = UngatedPipeline(tmp_path, sink, IDENTITY, source=source(topic))

    def read(offset: int) -> Callable[[], str | None]:
        def stop() -> str | None:
            epochs = pipeline.batches
            reached = epochs and epochs[-1].offsets["lines"][topic]["0"] == offset
            return "enough" if reached else None

        return stop

    first = pipeline.stream("first", "continuous=1s", stop=read(2))
    assert first.outcome is Outcome.DONE
    broker.produce(topic, [Record(None, "3")])
    assert pipeline.stream("second", "continuous=1s", stop=read(3)).outcome is Outcome.DONE
    assert set(values(broker, f"{topic}-out")) == {1, 2, 3}


@pytest.mark.parametrize("trigger", ["continuous=1s", "real-time=5s"])
def test_every_partition_needs_a_core(
    tmp_path: Path, spark: SparkSession, broker: Broker, topic: str, trigger: str
) -> None:
    broker.add_partitions(topic, 3)
    more = {"output": {"mode": "update"}}
    pipeline = UngatedPipeline(tmp_path, {"kind": "console"}, more=more, source=source(topic))
    data = refused(pipeline.stream("first", trigger), TooFewCores)
    assert (data["partitions"], data["cores"]) == (3, 2)


@pytest.mark.parametrize("kind", ["kafka", "foreach"])
def test_real_time_from_a_topic(
    tmp_path: Path, spark: SparkSession, broker: Broker, topic: str, kind: str
) -> None:
    broker.create_topic(f"{topic}-out")
    broker.produce(topic, [Record(None, "1"), Record(None, "2")])
    code = IDENTITY + noting(tmp_path) + "def foreach(row):\n    note(int(row.value))\n"
    sink = {"kind": kind, "topic": f"{topic}-out"} if kind == "kafka" else {"kind": kind}
    pipeline = UngatedPipeline(tmp_path, sink, code, {"output": {"mode": "update"}}, source(topic))
    report = pipeline.stream("first", "real-time=5s", stop=committed(pipeline))
    assert report.outcome is Outcome.DONE
    written = pipeline.notes() if kind == "foreach" else values(broker, f"{topic}-out")
    assert set(written) == {1, 2}
    assert pipeline.batches[0].offsets == {"lines": {topic: {"0": 2}}}


@pytest.mark.parametrize(
    "code",
    [
        "def transform(rows):\n    return rows.groupBy('value').count()\n",
        "from pyspark.sql import functions as F\n\ndef transform(rows):\n"
        "    return rows.select(F.udf(lambda v: v)('value').alias('value'))\n",
    ],
    ids=["aggregate", "udf"],
)
def test_real_time_takes_neither_state_nor_python_functions(
    tmp_path: Path, spark: SparkSession, broker: Broker, topic: str, code: str
) -> None:
    more = {"output": {"mode": "update"}}
    pipeline = UngatedPipeline(tmp_path, {"kind": "console"}, code, more, source(topic))
    error = pipeline.stream("first", "real-time=5s").error
    assert error is not None
    condition = "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"
    assert (error["data"]["condition"], error["transient"]) == (condition, False)
