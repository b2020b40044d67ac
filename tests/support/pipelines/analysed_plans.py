"""Transforms to be changed: each is only analysed, and no query runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.state import GroupStateTimeout

from tidemill.compatibility.change import Judge, Verdict
from tidemill.compatibility.plan_changes import plan_changes
from tidemill.compatibility.plan_shape import PlanShape
from tidemill.engine.shape.transform_shape import shape_of
from tidemill.spec.output import OutputMode

Transform = Callable[..., DataFrame]
Found = set[tuple[str, Verdict]]


@dataclass(frozen=True)
class Inputs:
    """Bare inputs: two streams and a static one."""

    events: DataFrame
    answers: DataFrame
    names: DataFrame

    def shape(self, transform: Transform, mode: OutputMode = OutputMode.APPEND) -> PlanShape:
        return shape_of(transform(self.events, self.answers, self.names), mode)

    def changes(self, was: Transform, now: Transform, table: dict[str, str] | None = None) -> Found:
        before, after = self.shape(was), self.shape(now)
        judge = Judge("events", before.pipeline_class)
        return {(one.field, one.verdict) for one in plan_changes(judge, before, after, table)}


def mapped(*columns: str, where: str | None = None) -> Transform:
    def transform(events: DataFrame, *_: DataFrame) -> DataFrame:
        rows = events if where is None else events.where(where)
        return rows.selectExpr("id", *columns)

    return transform


def grouped(
    *keys: Any, agg: tuple[str, ...] = ("sum(n) AS total",), where: str = "n > 0"
) -> Transform:
    def transform(events: DataFrame, *_: DataFrame) -> DataFrame:
        rows = events.where(where).withColumn("big", F.expr("n * 2"))
        return rows.groupBy(*(key() if callable(key) else key for key in keys)).agg(
            *map(F.expr, agg)
        )

    return transform


def window(width: str, slide: str | None = None) -> Callable[[], Any]:
    return lambda: F.window("at", width, slide).alias("window")


def deduplicated(*keys: str, within: bool = False) -> Transform:
    def transform(events: DataFrame, *_: DataFrame) -> DataFrame:
        kept = events.dropDuplicatesWithinWatermark if within else events.dropDuplicates
        return kept([*keys])

    return transform


WITHIN = "then BETWEEN at AND at + INTERVAL 1 HOUR"


def joined(how: str, *conditions: str, keep: tuple[str, ...] = ("n",)) -> Transform:
    def transform(events: DataFrame, answers: DataFrame, _: DataFrame) -> DataFrame:
        right = answers.selectExpr("id AS other", "word AS said", "at AS then")
        result = events.join(right, F.expr(" AND ".join(conditions)), how)
        return result.select("id", "at", *keep)

    return transform


def named(how: str) -> Transform:
    return lambda events, _, names: events.join(names, "id", how).select("id", "name")


class Last(StatefulProcessor):
    """Keeps the last number of each id, and whatever a row of the tests asks for."""

    def __init__(self, more: str = "", *, ttl: int | None = None, kind: str = "value") -> None:
        self.more, self.ttl, self.kind = more, ttl, kind

    def init(self, handle: Any) -> None:
        kept = {"value": handle.getValueState, "list": handle.getListState}[self.kind]
        self.last = kept("last", f"n int{self.more}", ttlDurationMs=self.ttl)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        yield Row(id=key[0], n=sum(row["n"] for row in rows))


class More(Last):
    def init(self, handle: Any) -> None:
        super().init(handle)
        self.seen = handle.getMapState("seen", "word string", "times bigint")


class Wider(Last):
    def init(self, handle: Any) -> None:
        self.last = handle.getValueState("last", "n bigint")


class Texts(Last):
    def init(self, handle: Any) -> None:
        self.last = handle.getValueState("last", "n string")


class Other(Last):
    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        yield Row(id=key[0], n=max(row["n"] for row in rows))


def own(processor: StatefulProcessor, key: str = "id", time: str = "EventTime") -> Transform:
    def transform(events: DataFrame, *_: DataFrame) -> DataFrame:
        return events.groupBy(key).transformWithState(processor, "id string, n int", "append", time)

    return transform


def counted(key: Any, frames: Any, state: Any) -> Iterator[pd.DataFrame]:
    yield pd.DataFrame({"id": [key[0]], "n": [sum(len(frame) for frame in frames)]})


def summed(key: Any, frames: Any, state: Any) -> Iterator[pd.DataFrame]:
    yield pd.DataFrame({"id": [key[0]], "n": [sum(frame["n"].sum() for frame in frames)]})


def in_pandas(
    function: Any = counted,
    state: str = "n int",
    timeout: str = GroupStateTimeout.EventTimeTimeout,
    key: str = "id",
) -> Transform:
    def transform(events: DataFrame, *_: DataFrame) -> DataFrame:
        groups = events.groupBy(key)
        return groups.applyInPandasWithState(function, "id string, n int", state, "append", timeout)

    return transform
