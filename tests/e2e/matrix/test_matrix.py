"""Every row of tests/matrix.yaml: what goes together runs, and what does not is refused."""

from __future__ import annotations

import json
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyspark.errors import AnalysisException
from pyspark.sql.avro.functions import to_avro

from tests.servers.kafka_client import Record
from tests.support.pipelines.matrix_pipeline import (
    WORDS,
    Combination,
    kafka_connection,
    rows_in_ledger,
)
from tests.support.pipelines.matrix_queries import rows_of
from tidemill.contract.errors import SpecError
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome
from tidemill.spec.pipeline import Pipeline
from tidemill.steps import stream as stream_step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.kafka import Broker

DDL = "word string"
# The pipeline whose table is read.
UPSTREAM = "upstream"
# How a query ends that Spark will not run.
FAILURES = {"ModeUnsupported", "PlanRefused", "QueryFailed", "QueryInterrupted"}
AVRO = json.dumps(
    {"type": "record", "name": "r", "fields": [{"name": "word", "type": ["null", "string"]}]}
)


# -- the sources -----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def feed(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Callable[[str], Path]:
    """A folder with the words in a file of some format."""
    home = tmp_path_factory.mktemp("feeds")

    def of(kind: str) -> Path:
        folder = home / kind
        if folder.exists():
            return folder
        folder.mkdir()
        table = pa.table({"word": list(WORDS)})
        if kind == "csv":
            (folder / "f.csv").write_text("\n".join(["word", *WORDS]) + "\n")
        elif kind == "json":
            (folder / "f.json").write_text("".join(f'{{"word": "{w}"}}\n' for w in WORDS))
        elif kind == "text":
            (folder / "f.txt").write_text("\n".join(WORDS) + "\n")
        elif kind == "xml":
            rows = "".join(f"<row><word>{word}</word></row>" for word in WORDS)
            (folder / "f.xml").write_text(f"<rows>{rows}</rows>")
        elif kind == "parquet":
            pq.write_table(table, folder / "f.parquet")
        elif kind == "orc":
            pa.orc.write_table(table, folder / "f.orc")
        else:
            rows = spark.createDataFrame([(word,) for word in WORDS], DDL)
            rows.coalesce(1).write.format("avro").mode("append").save(str(folder))
        return folder

    return of


@pytest.fixture(scope="session")
def topic(broker: Broker, spark: SparkSession) -> Callable[[str], str]:
    """A topic that holds the words as values of some format."""
    made: dict[str, str] = {}

    def of(kind: str) -> str:
        if kind not in made:
            made[kind] = f"words-{kind}-{uuid.uuid4().hex[:8]}"
            broker.create_topic(made[kind])
            values: list[Any] = list(WORDS)
            if kind == "json":
                values = [json.dumps({"word": word}) for word in WORDS]
            elif kind == "avro":
                rows = spark.createDataFrame([(word,) for word in WORDS], DDL)
                rows = rows.selectExpr("struct(word) AS r").select(to_avro("r", AVRO).alias("v"))
                values = [bytes(row["v"]) for row in rows.collect()]
            broker.produce(made[kind], [Record(key=None, value=value) for value in values])
        return made[kind]

    return of


@pytest.fixture
def line_server() -> Iterator[int]:
    """A port where everyone who asks is told the words."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                held.append(client)
                client.sendall(("\n".join(WORDS) + "\n").encode())

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        for client in held:
            client.close()


@pytest.fixture
def source(
    feed: Callable[[str], Path],
    topic: Callable[[str], str],
    broker: Broker,
    line_server: int,
    monkeypatch: pytest.MonkeyPatch,
    spark: SparkSession,
) -> Callable[..., tuple[dict[str, Any], str]]:
    """A source by kind and format, and its column with the words."""
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", kafka_connection(broker.bootstrap))

    def of(kind: str, form: str | None = None) -> tuple[dict[str, Any], str]:
        if kind == "file":
            column = "value" if form == "text" else "word"
            schema = f"{column} string"
            path = str(feed(str(form)))
            made = {"kind": kind, "format": form, "path": path, "schema": schema}
            return made | ({"options": {"rowTag": "row"}} if form == "xml" else {}), column
        if kind == "kafka":
            schema = {"json": DDL, "csv": DDL, "avro": AVRO}.get(str(form))
            value = {"format": form, **({"schema": schema} if schema else {})}
            column = "word" if schema else "value"
            return {"kind": kind, "subscribe": topic(str(form)), "value": value}, column
        if kind == "rate":
            return {"kind": kind, "rowsPerSecond": 5}, "value"
        if kind == "rate-micro-batch":
            return {"kind": kind, "rowsPerBatch": 5}, "value"
        if kind == "socket":
            return {"kind": kind, "port": line_server}, "value"
        if kind == "table":
            return {"kind": kind, "pipeline": UPSTREAM, "schema": DDL}, "word"
        return python_source(), "word"

    return of


def python_source() -> dict[str, Any]:
    return {
        "kind": "python",
        "data_source": "tests.support.pipelines.words_source:WordsSource",
        "schema": DDL,
    }


def of_source(
    row: dict[str, Any], home: Path, source: Callable[..., tuple[dict[str, Any], str]]
) -> Combination:
    made, column = source(row["source"], row.get("format"))
    if row["source"] == "table":
        write_deltalake(Layout(home / "root", UPSTREAM).table, pa.table({"word": list(WORDS)}))
    replayable = row["source"] in ("file", "kafka", "table", "python")
    ends = row["trigger"] in ("available-now", "once")
    sink = {"kind": "console" if row["trigger"] == "real-time" else "memory"}
    return Combination(
        home,
        {"one": made},
        row["trigger"],
        mode="update" if row["trigger"] == "real-time" else "append",
        sink=None if replayable and ends else sink,
        column=column,
    )


def enough(pipeline: Pipeline, spark: SparkSession) -> bool:
    """Whether the words have come to the sink that shows them."""
    if pipeline.spec.sink is not None and pipeline.spec.sink.kind == "memory":
        if not spark.catalog.tableExists(pipeline.name):
            return False
        # Taking rows needs no job: a continuous query may hold every core there is.
        return len(spark.table(pipeline.name).take(len(WORDS))) == len(WORDS)
    return rows_in_ledger(pipeline) >= len(WORDS)


@rows_of("sources", says="run")
def test_a_source_runs(
    row: dict[str, Any],
    tmp_path: Path,
    spark: SparkSession,
    source: Callable[..., tuple[dict[str, Any], str]],
) -> None:
    combination = of_source(row, tmp_path, source)
    report = combination.run(lambda pipeline: enough(pipeline, spark))
    assert report.outcome is Outcome.DONE, report.error and report.error["what"]
    if row["source"] not in ("rate", "socket") or row["trigger"] not in ("available-now", "once"):
        assert enough(combination.open(), spark)


@rows_of("sources", says="refuse")
def test_a_source_is_refused(
    row: dict[str, Any],
    tmp_path: Path,
    spark: SparkSession,
    source: Callable[..., tuple[dict[str, Any], str]],
) -> None:
    report = of_source(row, tmp_path, source).run(lambda _: False)
    assert report.error is not None
    assert report.error["code"] == "TriggerUnsupported"
    assert report.error["data"]["at"] == "sources.one"


@rows_of("sources", says="refuse")
def test_spark_alone_refuses_a_source_too(
    row: dict[str, Any],
    tmp_path: Path,
    spark: SparkSession,
    source: Callable[..., tuple[dict[str, Any], str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert row["by"] == "spark"
    monkeypatch.setattr(stream_step, "refuse_unsupported", lambda *_: None)
    combination = of_source(row, tmp_path, source)
    report = combination.run(lambda pipeline: enough(pipeline, spark))
    assert report.error is not None
    assert report.error["code"] in FAILURES


# -- the sinks -------------------------------------------------------------------------------------


def of_sink(
    row: dict[str, Any], home: Path, source: Callable[..., tuple[dict[str, Any], str]], broker: Any
) -> Combination:
    made, column = source("kafka", "text")
    kind, output = row["sink"], {}
    sink: dict[str, Any] | None = {"kind": kind}
    publish = None
    if kind in FORMATS:
        sink, publish, output = None, [{"kind": "files"}], {"format": kind}
    elif kind == "delta":
        sink = None
    elif kind == "kafka":
        out = f"out-{uuid.uuid4().hex[:8]}"
        broker.create_topic(out)
        sink = {"kind": "kafka", "topic": out}
    return Combination(
        home,
        {"one": made},
        row["trigger"],
        mode=row["mode"],
        output=output,
        sink=sink,
        publish=publish,
        column=column,
    )


FORMATS = ("json", "csv", "orc", "text", "avro")


def arrived_in(
    combination: Combination, pipeline: Pipeline, spark: SparkSession, broker: Broker
) -> bool:
    """Whether each word has come out at the sink's other end."""
    sink = combination.sink
    if sink is None:
        return rows_in_ledger(pipeline) >= len(WORDS)
    if sink["kind"] == "kafka":
        values = {message.value() for message in broker.records(sink["topic"])}
        return values >= {word.encode() for word in WORDS}
    if sink["kind"] == "foreach":
        texts = [path.read_text() for path in combination.folder.iterdir()]
        return set(texts) >= set(WORDS)
    if sink["kind"] == "foreach_batch":
        parts = combination.folder.glob("batches/part-*")
        return {line for part in parts for line in part.read_text().split()} >= set(WORDS)
    if sink["kind"] == "console" and combination.trigger == "continuous":
        # It prints from the JVM, and a continuous query counts nothing: two epochs must do.
        return len(list((pipeline.layout.checkpoint("live-0001") / "commits").glob("[0-9]*"))) > 1
    return enough(pipeline, spark)


@rows_of("sinks", says="run")
def test_a_sink_runs(
    row: dict[str, Any],
    tmp_path: Path,
    spark: SparkSession,
    broker: Broker,
    source: Callable[..., tuple[dict[str, Any], str]],
) -> None:
    combination = of_sink(row, tmp_path, source, broker)
    report = combination.run(lambda pipeline: arrived_in(combination, pipeline, spark, broker))
    assert report.outcome is Outcome.DONE, report.error and report.error["what"]
    assert arrived_in(combination, combination.open(), spark, broker)


@rows_of("sinks", says="refuse")
def test_a_sink_is_refused(
    row: dict[str, Any],
    tmp_path: Path,
    spark: SparkSession,
    broker: Broker,
    source: Callable[..., tuple[dict[str, Any], str]],
) -> None:
    combination = of_sink(row, tmp_path, source, broker)
    if row["sink"] in FORMATS and row["mode"] != "append":
        with pytest.raises(SpecError) as error:
            combination.open()
        assert error.value.field == "output.format"
        return
    report = combination.run(lambda _: False)
    assert report.error is not None
    # What the transform does is known to Spark only.
    aggregates = row["mode"] == "update" and row["trigger"] == "continuous"
    if aggregates and row["sink"] in ("kafka", "console", "memory"):
        assert report.error["code"] == "PlanRefused"
    else:
        assert report.error["code"] == "TriggerUnsupported"
        assert report.error["data"]["at"] in ("publish", "sink", "output.mode")


@rows_of("sinks", says="refuse")
def test_spark_alone_refuses_a_sink_too(
    row: dict[str, Any],
    tmp_path: Path,
    spark: SparkSession,
    broker: Broker,
    source: Callable[..., tuple[dict[str, Any], str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert row["by"] == "spark"
    if row["sink"] in FORMATS and row["mode"] != "append":
        rows = spark.readStream.format("rate").load()
        counted = rows.groupBy("value").count().selectExpr("CAST(value AS STRING) AS word")
        writer = counted.writeStream.format(row["sink"]).outputMode(row["mode"])
        with pytest.raises(AnalysisException):
            writer.option("checkpointLocation", str(tmp_path / "c")).start(str(tmp_path / "o"))
        return
    monkeypatch.setattr(stream_step, "refuse_unsupported", lambda *_: None)
    combination = of_sink(row, tmp_path, source, broker)
    report = combination.run(lambda pipeline: arrived_in(combination, pipeline, spark, broker))
    assert report.error is not None
    assert report.error["code"] in FAILURES


# -- what may be published -------------------------------------------------------------------------


@rows_of("unreplayable", says="refuse")
def test_what_cannot_be_replayed_is_not_published(
    row: dict[str, Any], tmp_path: Path, source: Callable[..., tuple[dict[str, Any], str]]
) -> None:
    made, column = source(row["source"])
    with pytest.raises(SpecError) as error:
        Combination(tmp_path, {"one": made}, "available-now", column=column).open()
    assert error.value.field == "sources.one"
