"""Changes of stateful operations, row by row after Spark's guide, "Recovery Semantics".

Each row is a transform before and after; both are only analysed, and no query runs.
"""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.state import GroupStateTimeout

from tests.support.pipelines.analysed_plans import (
    WITHIN,
    Found,
    Inputs,
    Last,
    More,
    Other,
    Texts,
    Transform,
    Wider,
    deduplicated,
    grouped,
    in_pandas,
    joined,
    mapped,
    own,
    summed,
    window,
)
from tidemill.compatibility.change import Judge, Verdict
from tidemill.compatibility.plan_changes import plan_changes
from tidemill.spec.output import OutputMode

ALLOWED, CONSEQUENCES, NOT_ALLOWED = Verdict

TWS = "transform.TransformWithStateInPySpark"
FMG = "transform.FlatMapGroupsInPandasWithState"
TOTALS = grouped("id")
JOIN = joined("inner", "id = other", WITHIN)
ROWS: dict[str, tuple[Transform, Transform, Found]] = {
    # Changes in stateful operations.
    "state where there was none": (
        mapped("n"),
        grouped("id", "n", agg=("count(*) AS c",)),
        {
            ("transform.operators", NOT_ALLOWED),
            ("transform.filter", CONSEQUENCES),
            ("transform.columns.c", CONSEQUENCES),
        },
    ),
    # Streaming aggregation: any change in number or type of grouping keys or aggregates.
    "a grouping key more": (
        grouped("id"),
        grouped("id", "word"),
        {
            ("transform.Aggregate.keys", NOT_ALLOWED),
            ("transform.columns.word", CONSEQUENCES),
        },
    ),
    "another grouping key of the same type": (
        grouped("id"),
        grouped(lambda: F.col("word").alias("id")),
        {
            ("transform.Aggregate.keys", NOT_ALLOWED),
            ("transform.columns.id", CONSEQUENCES),
        },
    ),
    "another window": (
        grouped(window("10 minutes")),
        grouped(window("5 minutes")),
        {
            ("transform.Aggregate.keys", NOT_ALLOWED),
            ("transform.columns.window", CONSEQUENCES),
        },
    ),
    "windows that slide": (
        grouped(window("10 minutes")),
        grouped(window("10 minutes", "5 minutes")),
        {
            ("transform.Aggregate.keys", NOT_ALLOWED),
            ("transform.operation", CONSEQUENCES),
            ("transform.columns.window", CONSEQUENCES),
        },
    ),
    "an aggregate more": (
        TOTALS,
        grouped("id", agg=("sum(n) AS total", "count(*) AS c")),
        {
            ("transform.Aggregate.aggregates", NOT_ALLOWED),
            ("transform.columns.c", CONSEQUENCES),
        },
    ),
    "another aggregate": (
        TOTALS,
        grouped("id", agg=("bigint(max(n)) AS total",)),
        {
            ("transform.Aggregate.aggregates", NOT_ALLOWED),
            ("transform.columns.total", CONSEQUENCES),
        },
    ),
    "an aggregate of another column": (
        TOTALS,
        grouped("id", agg=("sum(m) AS total",)),
        {
            ("transform.Aggregate.aggregates", NOT_ALLOWED),
            ("transform.columns.total", CONSEQUENCES),
        },
    ),
    "aggregates in another order, which Spark reads as each other": (
        grouped("id", agg=("sum(n) AS a", "sum(m) AS b")),
        grouped("id", agg=("sum(m) AS b", "sum(n) AS a")),
        {("transform.Aggregate.aggregates", NOT_ALLOWED)},
    ),
    "an aggregate of the same column, made otherwise": (
        TOTALS,
        grouped("id", agg=("sum(big) AS total",)),
        {
            ("transform.Aggregate.aggregates", CONSEQUENCES),
            ("transform.columns.total", CONSEQUENCES),
        },
    ),
    "a filter below an aggregation": (
        TOTALS,
        grouped("id", where="n > 1"),
        {("transform.filter", CONSEQUENCES)},
    ),
    # Streaming deduplication.
    "another key of a deduplication": (
        deduplicated("id", "at"),
        deduplicated("word", "at"),
        {("transform.Deduplicate.keys", NOT_ALLOWED)},
    ),
    "a deduplication within the watermark": (
        deduplicated("id"),
        deduplicated("id", within=True),
        {("transform.operators", NOT_ALLOWED)},
    ),
    # Stream-stream join: schema, equi-joining columns, type; the rest is ill-defined.
    "another key of a join": (
        JOIN,
        joined("inner", "word = said", WITHIN),
        {
            ("transform.Join.keys", NOT_ALLOWED),
            ("transform.Join.left", NOT_ALLOWED),
            ("transform.Join.right", NOT_ALLOWED),
        },
    ),
    "another type of join": (
        JOIN,
        joined("left_outer", "id = other", WITHIN),
        {("transform.Join.type", NOT_ALLOWED)},
    ),
    "other bounds of a join": (
        JOIN,
        joined("inner", "id = other", "then BETWEEN at AND at + INTERVAL 2 HOURS"),
        {("transform.Join.condition", CONSEQUENCES)},
    ),
    "a column that a join has to keep": (
        JOIN,
        joined("inner", "id = other", WITHIN, keep=("n", "m")),
        {("transform.Join.left", NOT_ALLOWED), ("transform.columns.m", CONSEQUENCES)},
    ),
    "no bounds any more": (
        JOIN,
        joined("inner", "id = other"),
        {
            ("transform.Join.condition", CONSEQUENCES),
            ("transform.Join.right", NOT_ALLOWED),
        },
    ),
    # Arbitrary stateful operations: schema of the state, type of timeout; functions may change.
    "another state of one's own": (
        in_pandas(),
        in_pandas(state="n bigint"),
        {(f"{FMG}.state", NOT_ALLOWED)},
    ),
    "another timeout": (
        in_pandas(),
        in_pandas(timeout=GroupStateTimeout.NoTimeout),
        {(f"{FMG}.time", NOT_ALLOWED)},
    ),
    "another key of one's own state": (
        in_pandas(),
        in_pandas(key="word"),
        {(f"{FMG}.keys", NOT_ALLOWED)},
    ),
    "another function": (in_pandas(), in_pandas(summed), {(f"{FMG}.function", CONSEQUENCES)}),
    "a field more in a variable": (
        own(Last()),
        own(Last(", note string")),
        {(f"{TWS}.variables.last", CONSEQUENCES), (f"{TWS}.function", CONSEQUENCES)},
    ),
    "a variable more": (
        own(Last()),
        own(More()),
        {(f"{TWS}.variables.seen", CONSEQUENCES), (f"{TWS}.function", CONSEQUENCES)},
    ),
    "a variable less": (
        own(More()),
        own(Last()),
        {(f"{TWS}.variables.seen", CONSEQUENCES), (f"{TWS}.function", CONSEQUENCES)},
    ),
    "a variable of a wider type": (
        own(Last()),
        own(Wider()),
        {(f"{TWS}.variables.last", CONSEQUENCES), (f"{TWS}.function", CONSEQUENCES)},
    ),
    "a variable of another type": (
        own(Last()),
        own(Texts()),
        {(f"{TWS}.variables.last", NOT_ALLOWED), (f"{TWS}.function", CONSEQUENCES)},
    ),
    "a variable of another kind": (
        own(Last()),
        own(Last(kind="list")),
        {(f"{TWS}.variables.last", NOT_ALLOWED), (f"{TWS}.function", CONSEQUENCES)},
    ),
    "a variable that is forgotten": (
        own(Last(), time="ProcessingTime"),
        own(Last(ttl=1000), time="ProcessingTime"),
        {(f"{TWS}.variables.last", NOT_ALLOWED), (f"{TWS}.function", CONSEQUENCES)},
    ),
    "another time mode": (own(Last()), own(Last(), time="None"), {(f"{TWS}.time", NOT_ALLOWED)}),
    "another processor": (own(Last()), own(Other()), {(f"{TWS}.function", CONSEQUENCES)}),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_change_has_its_verdict(name: str, inputs: Inputs) -> None:
    was, now, expected = ROWS[name]
    assert inputs.changes(was, now) == expected


def test_a_variable_beside_another_operator_with_state_must_stay(inputs: Inputs) -> None:
    def twice(processor: StatefulProcessor) -> Transform:
        return lambda events, *_: own(processor)(events.dropDuplicates(["id", "at"]))

    found = inputs.changes(twice(Last()), twice(Last(", note string")))
    assert (f"{TWS}[1].variables.last", NOT_ALLOWED) in found


def test_every_group_kept_for_ever_is_another_class(inputs: Inputs) -> None:
    windows = grouped(window("10 minutes"))
    shapes = [inputs.shape(windows, mode) for mode in (OutputMode.UPDATE, OutputMode.COMPLETE)]
    found = plan_changes(Judge("events", shapes[0].pipeline_class), *shapes, None)
    assert [(one.field, one.verdict) for one in found] == [("transform.class", NOT_ALLOWED)]
