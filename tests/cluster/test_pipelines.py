"""Pipelines of each kind through a standalone cluster: the rows are those that their code says."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.conftest import CARD
from tests.cluster.shell import report, tidemill, typed
from tests.cluster.unlucky import let_in
from tests.servers.s3 import S3
from tests.servers.spark import Cluster
from tests.support.histories.history_builder import History, rows
from tests.support.pages import BLOCKS
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.kafka_pipeline import KafkaPipeline
from tests.support.pipelines.windowed_words import at, windows
from tests.support.s3_root import new_root
from tidemill.contract.errors import ExitCode
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.ledger.generation_note import read_note
from tidemill.storage.root_identity import initialise

if TYPE_CHECKING:
    import pytest

    from tests.servers.kafka import Broker

DAY = {"event_time": {"column": "at"}, "output": {"partition_by": {"day": "to_date(at)"}}}
# A function in Python, and what it refers to, in a file that no worker has.
LOUD = """
from pyspark.sql import functions as F

MARK = "!"


def loud(word):
    return word.upper() + MARK


def transform(lines):
    return lines.withColumn("word", F.udf(loud, "string")("word"))
"""

# A word, and the card that its task was given.
CARDS = """
from pyspark import TaskContext
from pyspark.sql import functions as F


def placed(word):
    (card,) = TaskContext.get().resources()["gpu"].addresses
    return f"{word} on {card}"


def transform(events):
    words = events.withColumn("word", F.udf(placed, "string")("word"))
    return words.groupBy(F.window("at", "10 minutes"), "word").count()
"""

# Twice the number, and the cores of the task that computed it.
DOUBLES = """
from pyspark import TaskContext
from pyspark.resource import ResourceProfileBuilder, TaskResourceRequests


def double(frames):
    for frame in frames:
        yield frame.assign(double=2 * frame["id"], cores=TaskContext.get().cpus())


def transform(orders):
    wide = ResourceProfileBuilder().require(TaskResourceRequests().cpus(2)).build
    rows = orders.mapInPandas(double, "id long, double long, cores int", profile=wide)
    return rows.select("double", "cores")
"""


def on_cluster(environ: Mapping[str, str], cluster: Cluster) -> dict[str, str]:
    """The variables of a command whose Spark runs on a cluster, by the connection of the page."""
    _, _, _, _, *options = shlex.split(BLOCKS["cluster-connection"])
    given = dict(zip(options[::2], options[1::2], strict=True))
    spark = {"conn_type": given["--conn-type"], "host": cluster.url}
    kept = {name: value for name, value in environ.items() if name != "TIDEMILL_MASTER"}
    return {**kept, "AIRFLOW_CONN_TIDEMILL_SPARK": json.dumps(spark)}


def test_a_group_with_state_kafka_and_functions_in_python_and_then_a_backfill(
    cluster: Cluster, broker: Broker, tmp_path: Path
) -> None:
    counts = windows(tmp_path)
    counts.arrive("events", "first", [at("12:01", "tide"), at("12:02", "tide"), at("12:03", "ebb")])
    counts.arrive("events", "next", [at("12:04", "tide"), at("12:31", "flow")])
    loud = JsonPipeline(tmp_path, {"lines": "at timestamp, word string"}, DAY, LOUD, name="loud")
    loud.arrive("lines", "one", [at("12:01", "tide"), at("12:02", "ebb")])
    orders = KafkaPipeline(tmp_path, broker)
    orders.produce_orders(0, 20)

    environ = on_cluster(orders.environ, cluster)
    tidemill("run", counts.name, loud.name, orders.name, "--run-id", "group", environ=environ)

    assert counts.published("word", "count") == [("ebb", 1), ("tide", 3)]
    assert loud.published("word") == [("EBB!",), ("TIDE!",)]
    orders.assert_orders(20)
    assert report(loud, "group").spark == report(counts, "group").spark
    # The two workers', where this machine may have any number.
    note = read_note(counts.layout, FIRST_GENERATION)
    assert note is not None
    assert note.shuffle_partitions == 4

    loud.write(LOUD.replace('"!"', '"?"'))
    tidemill("backfill", loud.name, "--from", "2026-03-01", "--to", "2026-03-02", environ=environ)
    assert loud.published("word", "day") == [
        ("EBB?", date(2026, 3, 1)),
        ("TIDE?", date(2026, 3, 1)),
    ]
    ended = cluster.ended()
    assert {app["state"] for app in ended} == {"FINISHED"}
    assert [app["name"] for app in ended] == [
        "tidemill ingest of 3 pipelines",
        "tidemill backfill loud",
    ]


def test_workers_without_tidemill_read_a_published_table_and_a_stage_has_the_cores_of_its_profile(
    cluster: Cluster, tmp_path: Path
) -> None:
    orders = History(tmp_path)
    orders.increment(rows(1))
    orders.increment(rows(2))
    orders.publish()
    source = {"kind": "table", "pipeline": orders.name, "schema": "id long"}
    doubles = JsonPipeline(tmp_path, {}, {"sources": {"orders": source}}, DOUBLES, name="doubles")

    tidemill("run", doubles.name, environ=on_cluster(doubles.environ, cluster))

    assert doubles.published("double", "cores") == [(2, 2), (4, 2)]


def test_executors_write_to_a_root_in_a_bucket_and_have_the_resources_of_their_workers(
    cluster: Cluster, s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = windows(tmp_path)
    asked = {f"spark.{part}.resource.gpu.amount": "1" for part in ("executor", "task")}
    counts.write(CARDS, spark={"conf": asked})
    counts.url = new_root(s3, monkeypatch)
    initialise(counts.root)
    environ = on_cluster(counts.environ, cluster)

    counts.arrive("events", "first", [at("12:01", "tide"), at("12:02", "ebb"), at("12:31", "tide")])
    tidemill("run", counts.name, environ=environ)
    # The second application begins with the state that the first one left in the bucket.
    counts.arrive("events", "next", [at("12:32", "tide"), at("13:01", "ebb")])
    tidemill("run", counts.name, environ=environ)

    assert counts.published("word", "count") == [
        (f"ebb on {CARD}", 1),
        (f"tide on {CARD}", 1),
        (f"tide on {CARD}", 2),
    ]


def test_a_driver_with_a_secret_is_refused_where_the_cluster_asks_for_none(
    cluster: Cluster, tmp_path: Path
) -> None:
    counts = windows(tmp_path)
    counts.arrive("events", "first", [at("12:01")])
    environ = let_in(counts, cluster.url, "a secret")
    with typed("run", counts.name, "--run-id", "guess", environ=environ) as run:
        assert run.wait() == ExitCode.USAGE
    error = report(counts, "guess").error
    assert error is not None
    place = cluster.url.removeprefix("spark://")
    assert error["data"]["masters"] == {place: "it asks for no secret"}
