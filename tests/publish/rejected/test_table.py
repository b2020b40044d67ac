"""Rejected rows: copied with reason, file and partition; never among the good ones, never lost."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import polars as pl
import pytest

from tests.support.histories.history_builder import History, reject, row, rows
from tidemill.contract.report import Outcome
from tidemill.file_formats.delta import open_dataset

BAD = [
    reject("1;x;é\u0000\n", "malformed", day="2024-01-01"),
    reject('{"id": 2}', "no event time"),
    reject("3", "rule amount_positive", day="2024-02-29"),
]


def test_a_rejected_row_says_why_from_where_and_for_which_partition(history: History) -> None:
    history.increment(rows(1), BAD)
    history.publish()
    found = sorted(history.rejected(), key=lambda one: one["reason"])
    assert [(one["reason"], one["record"], one["partition"]) for one in found] == [
        ("malformed", "1;x;é\u0000\n", [("day", "2024-01-01")]),
        ("no event time", '{"id": 2}', []),
        ("rule amount_positive", "3", [("day", "2024-02-29")]),
    ]
    assert {one["file"] for one in found} == {"file:///in/x.csv"}
    assert {(one["generation"], one["increment"], one["last_batch"]) for one in found} == {
        ("live-0001", 1, 0)
    }


def test_a_rejected_row_is_never_in_the_good_table(history: History) -> None:
    history.increment(rows(1, 2), BAD)
    history.publish()
    assert history.ids() == [1, 2]
    assert all("__HIVE_DEFAULT" not in uri for uri in history.delta().file_uris())
    assert all(one["day"] is not None for one in history.published())


def test_an_increment_without_rejected_rows_leaves_no_file(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    assert history.rejected() == []
    assert list(history.layout.rejected.glob("*.parquet")) == []
    assert len(history.log(history.layout.rejected)) == 1


def test_every_increment_counts_for_itself(history: History) -> None:
    history.increment(rows(1), [reject("a")])
    history.increment(rows(2))
    history.increment(rows(3), [reject("b"), reject("c")])
    history.publish()
    found = sorted(
        (one["increment"], one["last_batch"], one["record"]) for one in history.rejected()
    )
    assert found == [(1, 0, "a"), (3, 2, "b"), (3, 2, "c")]


def test_a_good_row_among_the_rejected_ones_stops_the_increment(history: History) -> None:
    history.increment([row(1), row(2, day=None)], [reject("a")])
    report = history.publish()
    assert report.outcome is Outcome.REFUSED
    assert report.error is not None
    assert report.error["code"] == "RejectedWithoutReason"
    assert (history.log(), history.log(history.layout.rejected)) == ([], [])


@pytest.mark.parametrize("partitioned", [True, False])
def test_other_engines_read_them(make_history: Callable[..., History], partitioned: bool) -> None:
    history = make_history(**({} if partitioned else {"partitions": {}}))
    history.increment(rows(1), BAD)
    history.publish()
    path = history.layout.rejected
    polars = pl.read_delta(str(path)).select("record", "increment").rows()
    duck = duckdb.from_arrow(open_dataset(path)).project("record, increment").fetchall()
    assert sorted(polars) == sorted(duck) == sorted((one["record"], 1) for one in BAD)


def test_many_rejected_rows_of_several_batches_are_one_file(history: History) -> None:
    for number in range(3):
        history.batch(rows(number), [reject(f"{number}-{n}") for n in range(100)])
    history.judge(history.seal().increment)
    history.publish()
    assert len(history.records()) == 300
    assert len(list(history.layout.rejected.glob("*.parquet"))) == 1
