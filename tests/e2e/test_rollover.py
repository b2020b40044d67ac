"""Spark goes on in a new generation with short logs: the table is that of one that never did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.recompute_requests import ask
from tidemill.contract.report import Outcome
from tidemill.journal.takeovers import current, read_takeovers
from tidemill.spark_logs.sink_log import read_sink_log

Rows = list[tuple[Any, ...]]
EACH_RUN = {"rollover": {"after_batches": 2}}
SAME = "def transform(sales):\n    return sales\n"
TOTALS = """
from pyspark.sql import functions as F


def transform(sales):
    return sales.groupBy("id").agg(F.sum("amount").alias("total"))
"""
WINDOWS = """
from pyspark.sql import functions as F


def transform(sales):
    return sales.groupBy(F.window("at", "10 minutes")).agg(F.sum("amount").alias("total")).select(
        F.date_format("window.start", "HH:mm").alias("start"), "total", "window"
    )
"""
FIRST_OF_EACH = "def transform(sales):\n    return sales.dropDuplicates(['id'])\n"
RUNS, FILES = 3, 2


def rows_of(number: int) -> list[dict[str, Any]]:
    """The rows of a file: two ids that come again, with times ten minutes after the file before."""
    at = f"2026-03-01T12:{number * 5:02d}:00Z"
    return [{"id": one, "amount": number, "at": at} for one in (str(number % 3), f"n{number // 2}")]


def totals(files: int) -> Rows:
    found: Counter[str] = Counter()
    for number in range(files):
        for row in rows_of(number):
            found[row["id"]] += row["amount"]
    return sorted(found.items())


def all_rows(files: int) -> Rows:
    return sorted((row["id"], row["amount"]) for n in range(files) for row in rows_of(n))


def first_rows(files: int) -> Rows:
    first: dict[str, int] = {}
    for number in range(files):
        for row in rows_of(number):
            first.setdefault(row["id"], row["amount"])
    return sorted(first.items())


def closed_windows(files: int) -> Rows:
    """The windows that end by the watermark, ten minutes before the newest row."""
    found: Counter[int] = Counter()
    for number in range(files):
        found[number * 5 // 10] += 2 * number
    closed = ((files - 1) * 5 - 10) // 10
    return sorted((f"12:{window * 10:02d}", found[window]) for window in range(closed))


Case = tuple[str, dict[str, Any], tuple[str, ...], Callable[[int], Rows]]
CASES: dict[str, Case] = {
    "append": (SAME, {}, ("id", "amount"), all_rows),
    "update": (TOTALS, {"output": {"mode": "update", "keys": ["id"]}}, ("id", "total"), totals),
    "complete": (TOTALS, {"output": {"mode": "complete"}}, ("id", "total"), totals),
    "window": (
        WINDOWS,
        {"event_time": {"column": "at", "watermark": "10 minutes"}},
        ("start", "total"),
        closed_windows,
    ),
    "ordered": (FIRST_OF_EACH, {}, ("id", "amount"), first_rows),
}


def flow_of(home: Path, transform: str, spec: dict[str, Any]) -> JsonPipeline:
    columns = {"sales": "id string, amount long, at timestamp"}
    return JsonPipeline(home, columns, {**EACH_RUN, **spec}, transform)


def run_with_files(flow: JsonPipeline, run: int) -> None:
    """A run that takes in the files of its number."""
    for number in range(run * FILES, run * FILES + FILES):
        flow.arrive("sales", f"f{number:03d}", rows_of(number))
    flow.go(f"run-{run}")


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("case", CASES)
def test_state_and_rows_go_on(tmp_path: Path, case: str) -> None:
    transform, spec, columns, expected = CASES[case]
    flow = flow_of(tmp_path, transform, spec)
    for run in range(RUNS):
        run_with_files(flow, run)
        assert flow.published(*columns) == expected(run * FILES + FILES)
    takeovers = read_takeovers(flow.layout.home)
    assert len(takeovers) >= RUNS - 1
    assert {one.kind for one in takeovers} == {"rollover"}


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("case", ["ordered", "update"])
def test_a_rewind_goes_back_before_the_rollovers(tmp_path: Path, case: str) -> None:
    transform, spec, columns, expected = CASES[case]
    flow = flow_of(tmp_path, transform, spec)
    for run in range(RUNS):
        run_with_files(flow, run)
    done = ask(flow, "rewind", "back", back_to="run-0")
    assert done["publish"].outcome is Outcome.DONE, done
    assert flow.published(*columns) == expected(FILES)
    flow.go("after")
    assert flow.published(*columns) == expected(RUNS * FILES)


@pytest.mark.usefixtures("spark")
def test_files_that_were_read_are_not_read_again_wherever_they_were(tmp_path: Path) -> None:
    flow = flow_of(tmp_path, SAME, {"sources": {"sales": {"vanished": "warn"}}})
    files = [flow.arrive("sales", f"a {n} é%20\u00a0x", rows_of(n)) for n in range(3)]
    away = tmp_path / "away"
    away.mkdir()
    flow.go("first")
    files[0].rename(away / "first")
    files += [flow.arrive("sales", "b", rows_of(3))]
    flow.go("second")
    assert current(flow.layout) == "live-0002"
    assert read_sink_log(flow.layout.sink("live-0002")).latest is not None
    (away / "first").rename(files[0])
    files += [flow.arrive("sales", f"c{n}", rows_of(n)) for n in (4, 5)]
    flow.go("third")
    assert flow.published("id", "amount") == all_rows(6)
    assert [len(batch.inputs) for batch in flow.batches] == [1] * 6
    assert len(read_takeovers(flow.layout.home)) == 2


@pytest.mark.usefixtures("spark")
def test_decisions_reach_across_a_rollover(tmp_path: Path) -> None:
    most = {"column": "amount", "max_value": 50}
    rule = {"type": "expect_column_values_to_be_between", "kwargs": most, "meta": {}}
    spec = {
        "event_time": {"column": "at"},
        "output": {"partition_by": {"day": "to_date(at)"}},
    }
    flow = flow_of(tmp_path, SAME, spec)
    flow.suite = {**flow.suite, "expectations": [rule]}
    flow.write()
    for run in range(2):
        for number in (2 * run, 2 * run + 1):
            flow.arrive("sales", f"f{number}", rows_of(number))
        flow.go(f"run-{run}")
    assert current(flow.layout) == "live-0003"
    flow.arrive("sales", "wrong", [{**rows_of(4)[0], "amount": 99}])
    assert flow.run("held")["gate"].outcome is Outcome.HELD
    double = SAME.replace("return sales", 'return sales.withColumn("amount", sales.amount % 99)')
    flow.write(transform=double)
    done = ask(flow, "redo", "redo")
    assert done["publish"].outcome is Outcome.DONE, done["publish"]
    again = sorted([*all_rows(4), (rows_of(4)[0]["id"], 0)])
    assert flow.published("id", "amount") == again
    twice = SAME.replace("return sales", 'return sales.withColumn("amount", sales.amount % 99 * 2)')
    flow.write(transform=twice)
    for role in ("backfill", "rebuild"):
        done = ask(flow, role, role, **({} if role == "rebuild" else _the_day()))
        assert done["publish"].outcome is Outcome.DONE, done["publish"]
        assert flow.published("id", "amount") == sorted((one, 2 * n) for one, n in again)
    flow.arrive("sales", "last", rows_of(5))
    flow.go("last")
    expected = [*again, *((row["id"], row["amount"]) for row in rows_of(5))]
    assert sorted(flow.published("id", "amount")) == sorted((one, 2 * n) for one, n in expected)


def _the_day() -> dict[str, Any]:
    from tests.support.pipelines.recompute_requests import days

    return days(1, 2)
