"""Partition values: from Spark's directory names through Delta to every reader."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.support.histories.history_builder import History, reject, row, rows
from tidemill.contract.report import Outcome
from tidemill.file_formats.delta import open_dataset

# A file of its own each; Spark escapes some of them in the name of the directory.
VALUES = [
    *("a:b", "50%", "x/y", "k=v", "#h", "q?", "é", "e\u0301", "日本 語", "😀", "a b", "a%20b"),
    *("a%3Ab", "+plus", "'q\"", "{c}", "[s]", "*", "back\\slash", "^", "new\nline", "tab\t"),
    *("..", ".", ".dot", "_under", "null", "a;b&c", "~`|<>", "$x", " lead", "trail ", "\u00a0"),
]

READERS: dict[str, Callable[[History], dict[int, Any]]] = {
    "arrow": lambda history: {
        one["id"]: one["k"] for one in open_dataset(history.layout.table).to_table().to_pylist()
    },
    "polars": lambda history: dict(
        pl.read_delta(str(history.layout.table)).select("id", "k").rows()
    ),
    "duckdb": lambda history: dict(
        duckdb.from_arrow(open_dataset(history.layout.table)).project("id, k").fetchall()
    ),
}


@pytest.fixture(params=READERS)
def read(request: pytest.FixtureRequest) -> Callable[[History], dict[int, Any]]:
    return READERS[request.param]


@pytest.fixture
def partitioned(make_history: Callable[..., History]) -> Callable[..., History]:
    """A published history with one row for each value of a partition `k`."""

    def make(kind: pa.DataType, values: list[Any]) -> History:
        history = make_history(partitions={"k": kind})
        history.increment([row(number, k=value) for number, value in enumerate(values)])
        assert history.publish().outcome is Outcome.DONE
        return history

    return make


def test_every_text_comes_back(
    partitioned: Callable[..., History], read: Callable[[History], dict[int, Any]]
) -> None:
    assert read(partitioned(pa.string(), VALUES)) == dict(enumerate(VALUES))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.date32(), [date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31)]),
        (pa.int32(), [0, -(2**31), 2**31 - 1]),
        (pa.int64(), [0, -(2**63), 2**63 - 1]),
        (pa.bool_(), [True, False]),
    ],
    ids=str,
)
def test_other_types_come_back(
    partitioned: Callable[..., History],
    read: Callable[[History], dict[int, Any]],
    kind: pa.DataType,
    values: list[Any],
) -> None:
    assert read(partitioned(kind, values)) == dict(enumerate(values))


def test_a_filter_on_a_partition_finds_its_rows(partitioned: Callable[..., History]) -> None:
    history = partitioned(pa.string(), VALUES)
    arrow, polars = open_dataset(history.layout.table), pl.scan_delta(str(history.layout.table))
    for number, value in enumerate(VALUES):
        assert arrow.to_table(filter=pc.field("k") == value)["id"].to_pylist() == [number]
    found = pl.collect_all([polars.filter(pl.col("k") == value) for value in VALUES])
    assert [frame["id"].to_list() for frame in found] == [[n] for n in range(len(VALUES))]


def test_every_level_of_partitions_comes_back(make_history: Callable[..., History]) -> None:
    history = make_history(partitions={"day": pa.date32(), "k": pa.string()})
    days = (date(2024, 1, 1), date(2024, 1, 2))
    history.increment(
        [
            row(10 * d + n, day=day, k=k)
            for d, day in enumerate(days)
            for n, k in enumerate(("a/b", "c=d"))
        ]
    )
    history.publish()
    found = {one["id"]: (one["day"], one["k"]) for one in history.published()}
    assert found == {
        0: (days[0], "a/b"),
        1: (days[0], "c=d"),
        10: (days[1], "a/b"),
        11: (days[1], "c=d"),
    }


def test_a_null_beside_another_partition_comes_back(
    make_history: Callable[..., History], read: Callable[[History], dict[int, Any]]
) -> None:
    # The engine rejects such rows; a reader must not stumble over one.
    history = make_history(partitions={"day": pa.date32(), "k": pa.string()})
    history.increment([row(1, k=None), row(2, k="x")], [reject("bad")])
    assert history.publish().outcome is Outcome.DONE
    assert read(history) == {1: None, 2: "x"}
    assert history.records() == ["bad"]


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_good_row_in_the_null_partition_is_refused(
    make_history: Callable[..., History], nothing: str | None
) -> None:
    # There it would be taken for a rejected row; Spark writes '' as null.
    history = make_history(partitions={"k": pa.string()})
    history.increment([row(1, k="a"), row(2, k=nothing)])
    report = history.publish()
    assert report.outcome is Outcome.REFUSED
    assert report.error is not None
    assert report.error["code"] == "RejectedWithoutReason"
    assert (history.log(), history.log(history.layout.rejected)) == ([], [])


def test_without_partitions_the_table_has_none(make_history: Callable[..., History]) -> None:
    history = make_history(partitions={})
    history.increment(rows(1, 2), [reject("bad")])
    assert history.publish().outcome is Outcome.DONE
    assert (history.ids(), history.records()) == ([1, 2], ["bad"])
    assert history.delta().metadata().partition_columns == []
    assert [field.name for field in history.delta().schema().fields] == [
        "id",
        "amount",
        "at",
        "text",
    ]
