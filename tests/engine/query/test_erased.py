"""What the engine leaves out by hashes is what an erasure finds by values."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tidemill.engine.query.erased import (
    ErasedColumnGone,
    refuse_missing_sources,
    without_erased,
    without_erased_input,
)
from tidemill.engine.query.reject import REJECT_TYPE
from tidemill.steps.upkeep.erase.condition import Condition, new_salt
from tidemill.storage.erasures import Erasure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = f"n int, id bigint, text string, born date, _reject {REJECT_TYPE}"
ODD = 'Zoë "Zo" O\\Neil'
CONDITIONS = [
    Condition({"text": ("ann@example.org", ODD)}),
    Condition({"id": ("123456",)}),
    Condition({"id": ("7",), "text": ("bob", "Ann Lee")}),
    Condition({"born": ("2000-01-02",), "id": ("7",)}, dates=frozenset({"born"})),
    Condition({"text": ("nobody",)}, ("Ann Lee", "🙂 smile")),
]
GOOD: list[tuple[int | None, str | None, date | None]] = [
    (123456, "ann@example.org", date(2000, 1, 2)),
    (7, "bob", date(2000, 1, 2)),
    (7, "Ann Lee", None),
    (None, ODD, date(1999, 12, 31)),
    (-7, "Bob", date(2000, 1, 2)),
    (8, None, None),
    (7, "", date(2000, 1, 2)),
]
RECORDS = [
    '{"id":7,"text":"bob","born":"2000-01-02"}',
    '{"id":7,"text":"Ann Lee"}',
    '{"id":123456,"text":"x"}',
    '{"id":1234567,"text":"ann@example.org.uk"}',
    '{"text":"Zoë \\"Zo\\" O\\\\Neil"}',
    "7,bob,2000-01-02",
    "7;Ann Lee;x",
    "x_ann@example.org",
    "<ann@example.org>",
    "ann@example.org",
    "a🙂 smile,b",
    ",🙂 smile,b",
    "nobody",
    "",
    None,
]


def erasure_of(condition: Condition) -> Erasure:
    salt = new_salt()
    return Erasure(
        number=1, salt=salt, **condition.hidden(salt), by="ann", reason="a request",
        run_id="erase", epoch=1, began=datetime.now(UTC),
    )  # fmt: skip


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    good: list[tuple[Any, ...]] = [(n, *one, None) for n, one in enumerate(GOOD)]
    rejected = [
        (100 + n, None, None, None, ("malformed", "f.csv", record, None))
        for n, record in enumerate(RECORDS)
    ]
    return spark.createDataFrame([*good, *rejected], SCHEMA)


def test_hashes_leave_out_what_values_find(rows: DataFrame) -> None:
    for condition in CONDITIONS:
        left = {row["n"] for row in without_erased(rows, [erasure_of(condition)]).collect()}
        good = {
            n
            for n, (number, text, born) in enumerate(GOOD)
            if not condition.holds({"id": number, "text": text, "born": born})
        }
        rejected = {
            100 + n for n, record in enumerate(RECORDS) if not condition.holds_record(record)
        }
        assert left == good | rejected, condition
        assert len(left) < len(GOOD) + len(RECORDS)


def test_several_erasures_leave_out_each_of_theirs(rows: DataFrame) -> None:
    erasures = [erasure_of(one) for one in CONDITIONS]
    left = {row["n"] for row in without_erased(rows, erasures).collect()}
    assert left & set(range(100)) == {4, 5}


def test_rows_without_the_column_are_refused(rows: DataFrame) -> None:
    with pytest.raises(ErasedColumnGone) as refused:
        without_erased(rows.drop("text"), [erasure_of(CONDITIONS[0])])
    assert refused.value.data == {"column": "text", "erasure": 1}


def test_rows_of_a_source_go_before_the_transform(rows: DataFrame) -> None:
    erasure = erasure_of(replace(CONDITIONS[2], sources=("orders",)))
    left = {row["n"] for row in without_erased_input(rows, [erasure], "orders").collect()}
    # Rejected rows go behind the transform, whatever source they are of.
    assert {*range(len(GOOD)), *range(100, 100 + len(RECORDS))} - left == {1, 2}
    assert without_erased_input(rows, [erasure], "clicks") is rows
    behind = {row["n"] for row in without_erased(rows.drop("text"), [erasure]).collect()}
    assert {*range(len(GOOD))} <= behind
    assert {100, 101} & behind == set()


def test_a_source_that_is_gone_or_lacks_the_column_is_refused(rows: DataFrame) -> None:
    erasure = erasure_of(replace(CONDITIONS[0], sources=("orders",)))
    with pytest.raises(ErasedColumnGone) as refused:
        without_erased_input(rows.drop("text"), [erasure], "orders")
    assert refused.value.data == {"column": "text", "erasure": 1, "source": "orders"}
    with pytest.raises(ErasedColumnGone):
        refuse_missing_sources([erasure], ["clicks"])
