"""What may run in which output mode, told before a query starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.resource import (
    ExecutorResourceRequests,
    ResourceProfileBuilder,
    TaskResourceRequests,
)
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemill.contract.errors import SpecError
from tidemill.engine.query.key_checks import (
    KeyChanges,
    KeyIncomplete,
    KeyUnknown,
    RowsVanish,
    refuse_keys,
)
from tidemill.engine.query.refusals import (
    ModeUnsupported,
    TransformNotIncremental,
    TransformNotRepeatable,
    refuse_unrepeatable,
    refuse_unsupported,
)
from tidemill.engine.query.stage_profiles import ProfileRefused
from tidemill.engine.spark_errors import QueryFailed, from_spark
from tidemill.engine.spark_internals.java_errors import SPARK_ERRORS
from tidemill.spec.output import OutputMode
from tidemill.spec.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = Path("orders.yaml")
APPEND, UPDATE, COMPLETE = OutputMode.APPEND, OutputMode.UPDATE, OutputMode.COMPLETE
Transform = Callable[[DataFrame], DataFrame]


@pytest.fixture(scope="module")
def events(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    schema = "time timestamp, action string, door string, n int, day date"
    return spark.readStream.schema(schema).json(str(tmp_path_factory.mktemp("events")))


def spec(mode: OutputMode, *keys: str, partition_by: tuple[str, ...] = ()) -> Spec:
    columns = "time timestamp, action string, door string, n int"
    source = {"kind": "file", "format": "json", "path": "/nowhere", "schema": columns}
    return Spec.model_validate(
        {
            "sources": {"events": source},
            "event_time": {"column": "time"},
            "output": {
                "mode": mode,
                "keys": keys,
                "partition_by": {name: f"expr({name})" for name in partition_by},
            },
        }
    )


def check(rows: DataFrame, given: Spec) -> None:
    refuse_unrepeatable(rows, FILE, given.output.mode)
    refuse_keys(rows, given, FILE)
    refuse_unsupported(rows, FILE, given.output.mode)


def by_hour(events: DataFrame) -> DataFrame:
    counts = events.groupBy("action", F.window("time", "1 hour")).count()
    return counts.select("action", F.col("window.start").alias("hour"), "count")


def joined(events: DataFrame, condition: str) -> DataFrame:
    """A stream joined with another one by an hour and a condition."""
    late = events.withWatermark("time", "1 hour")
    other = late.select(F.col("time").alias("time2"), F.col("door").alias("door2"))
    near = F.expr(f"{condition} and time2 between time and time + interval 1 hour")
    return late.join(other, near)


def mapped(events: DataFrame, asked: ExecutorResourceRequests | TaskResourceRequests) -> DataFrame:
    """A stage with resources of its own."""
    profile = ResourceProfileBuilder().require(asked).build
    return events.mapInPandas(lambda frames: frames, events.schema, profile=profile)


def sessions(events: DataFrame, *keys: str) -> DataFrame:
    session = F.session_window("time", "1 minute").alias("w")
    return events.withWatermark("time", "1 hour").groupBy(*keys, session).count()


def mean(column: Column) -> Column:
    """The mean of numbers by a function in Python."""

    def mean_of(values: Any) -> float:
        return float(values.mean())

    found: Column = F.pandas_udf(mean_of, "double", F.PandasUDFType.GROUPED_AGG)(column)
    return found


FINE: dict[str, tuple[Transform, Spec]] = {
    "a join by an equality": (lambda e: joined(e, "door = door2"), spec(APPEND)),
    "sessions of each door": (lambda e: sessions(e, "door"), spec(APPEND)),
    "cores of a stage's own": (
        lambda e: mapped(e, TaskResourceRequests().cpus(2)),
        spec(APPEND),
    ),
    "counts in a window": (by_hour, spec(UPDATE, "action", "hour")),
    "counts under a watermark": (
        lambda e: by_hour(e.withWatermark("time", "1 hour")),
        spec(UPDATE, "action", "hour"),
    ),
    "counts by something computed": (
        lambda e: e.groupBy(F.upper("action").alias("a")).agg(F.sum("n").alias("n")),
        spec(UPDATE, "a"),
    ),
    "counts with a column of the group made afterwards": (
        lambda e: e.groupBy("action").count().withColumn("a", F.upper("action")),
        spec(UPDATE, "action"),
    ),
    "sorted collections": (
        lambda e: e.groupBy("action").agg(F.sort_array(F.collect_set("n")).alias("n")),
        spec(UPDATE, "action"),
    ),
    "how many different ones were collected": (
        lambda e: e.groupBy("action").agg(F.size(F.collect_set("door")).alias("doors")),
        spec(UPDATE, "action"),
    ),
    "rows as they come": (lambda e: e.drop("day"), spec(UPDATE, "door")),
    "counts of partitions": (
        lambda e: e.groupBy("day", "action").count(),
        spec(UPDATE, "day", "action", partition_by=("day",)),
    ),
    "the whole result": (by_hour, spec(COMPLETE)),
    "its first rows": (
        lambda e: e.groupBy("action").count().orderBy(F.desc("count"), "action").limit(3),
        spec(COMPLETE),
    ),
    "first seen": (lambda e: e.dropDuplicates(["door"]), spec(UPDATE, "door")),
    "one row": (lambda e: e.groupBy().count(), spec(COMPLETE)),
}

WRONG: dict[str, tuple[Transform, Spec, type[SpecError]]] = {
    "a join without an equality": (
        lambda e: joined(e, "door < door2"),
        spec(APPEND),
        ModeUnsupported,
    ),
    "sessions of all rows": (sessions, spec(APPEND), ModeUnsupported),
    "complete without an aggregation": (lambda e: e, spec(COMPLETE), ModeUnsupported),
    "sorted updates": (
        lambda e: e.groupBy("action").count().orderBy("action"),
        spec(UPDATE, "action"),
        ModeUnsupported,
    ),
    "sessions": (
        lambda e: sessions(e, "door"),
        spec(UPDATE, "door", "w"),
        ModeUnsupported,
    ),
    "two aggregations": (
        lambda e: e.groupBy("action", "door").count().groupBy("action").count(),
        spec(UPDATE, "action"),
        ModeUnsupported,
    ),
    "counts of different values": (
        lambda e: e.groupBy("action").agg(F.count_distinct("door").alias("doors")),
        spec(UPDATE, "action"),
        ModeUnsupported,
    ),
    "a limit of updates": (
        lambda e: e.groupBy("action").count().limit(3),
        spec(UPDATE, "action"),
        TransformNotRepeatable,
    ),
    "whatever comes first": (
        lambda e: e.groupBy("action").agg(F.first("n").alias("n")),
        spec(UPDATE, "action"),
        TransformNotRepeatable,
    ),
    "unsorted collections": (
        lambda e: e.groupBy("action").agg(F.collect_list("n").alias("n")),
        spec(COMPLETE),
        TransformNotRepeatable,
    ),
    "a misspelt key": (by_hour, spec(UPDATE, "action", "hours"), KeyUnknown),
    "a key less": (by_hour, spec(UPDATE, "action"), KeyIncomplete),
    "a partition that is not a key": (
        lambda e: e.drop("door"),
        spec(UPDATE, "action", partition_by=("day",)),
        KeyIncomplete,
    ),
    "a count as key": (by_hour, spec(UPDATE, "action", "hour", "count"), KeyChanges),
    "what is made of a count as key": (
        lambda e: by_hour(e).withColumn("many", F.col("count") > 3),
        spec(UPDATE, "action", "hour", "many"),
        KeyChanges,
    ),
    "counts that are filtered": (
        lambda e: by_hour(e).where("count > 3"),
        spec(UPDATE, "action", "hour"),
        RowsVanish,
    ),
    "executors of a stage's own": (
        lambda e: mapped(e, ExecutorResourceRequests().cores(4)),
        spec(APPEND),
        ProfileRefused,
    ),
    "an aggregate in Python": (
        lambda e: e.groupBy("action").agg(mean(F.col("n")).alias("mean")),
        spec(UPDATE, "action"),
        TransformNotIncremental,
    ),
}


@pytest.mark.parametrize("name", FINE)
def test_what_is_fine(events: DataFrame, name: str) -> None:
    transform, given = FINE[name]
    check(transform(events), given)


def test_cores_of_a_stages_own_need_a_cluster_and_no_further_try_is_made(
    spark: SparkSession,
) -> None:
    with pytest.raises(SPARK_ERRORS, match="TaskResourceProfiles") as error:
        mapped(spark.range(1), TaskResourceRequests().cpus(1)).collect()
    assert isinstance(from_spark(error.value), QueryFailed)


@pytest.mark.parametrize(("name", "error"), [(name, case[2]) for name, case in WRONG.items()])
def test_what_is_refused(events: DataFrame, name: str, error: type[SpecError]) -> None:
    transform, given, _ = WRONG[name]
    with pytest.raises(error):
        check(transform(events), given)


def test_the_reason_is_sparks_own(events: DataFrame) -> None:
    with pytest.raises(ModeUnsupported) as refused:
        refuse_unsupported(events, FILE, COMPLETE)
    assert refused.value.reason.startswith("[STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION]")
    assert (refused.value.mode, refused.value.field) == ("complete", "output.mode")


def test_what_is_wrong_with_keys_is_said_by_name(events: DataFrame) -> None:
    with pytest.raises(KeyUnknown) as unknown:
        refuse_keys(by_hour(events), spec(UPDATE, "action", "hours"), FILE)
    assert unknown.value.column == "hours"
    assert "'hour'" in unknown.value.remedy
    with pytest.raises(KeyIncomplete) as incomplete:
        refuse_keys(by_hour(events), spec(UPDATE, "action"), FILE)
    assert incomplete.value.missing == ["window"]
