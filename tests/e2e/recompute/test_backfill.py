"""Backfill, redo, reject and reinstate of a pipeline that works row by row, held against Python."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.pipeline_folder import STEPS
from tests.support.pipelines.recompute_requests import WHO, ask, days, files_of
from tests.support.pipelines.sales_pipeline import TRANSFORM, row, sale, sales
from tidemill.contract.report import Outcome
from tidemill.increments.increments import State
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.journal import Journal
from tidemill.reporting.file_origin import origins


@pytest.fixture
def flow(tmp_path: Path) -> JsonPipeline:
    return sales(tmp_path)


def rejected(flow: JsonPipeline) -> list[str]:
    table = DeltaTable(flow.layout.rejected).to_pyarrow_table(columns=["record"])
    return sorted(str(value) for value in table.column("record").to_pylist())


def states(flow: JsonPipeline) -> list[State]:
    return [increment.state for increment in Snapshot(flow.layout).increments]


def test_a_backfill_swaps_whole_days_and_leaves_the_others_alone(
    flow: JsonPipeline, spark: object
) -> None:
    before = files_of(flow.layout.table)
    flow.write(TRANSFORM.format(factor=2))
    reports = ask(flow, "backfill", "again", **days(2, 3))
    assert reports["publish"].outcome is Outcome.DONE, reports
    assert flow.published() == sorted(
        [row("a", 1, 10), row("c", 2, 40), row("d", 2, 60), row("e", 3, 40), row("f", 1, 50)],
        key=repr,
    )
    after = files_of(flow.layout.table)
    assert {day: after[day] for day in ("2026-03-01", "2026-03-03")} == {
        day: before[day] for day in ("2026-03-01", "2026-03-03")
    }
    assert after["2026-03-02"].isdisjoint(before["2026-03-02"])
    said = DeltaTable(flow.layout.table).history()[0]
    assert WHO["by"] in said.values() or WHO["by"] in str(said)
    event = Journal(flow.layout.journal).events()[-1]
    assert event.kind == "swap"
    assert event.recomputation is not None
    assert event.recomputation.partitions is not None
    assert event.recomputation.partitions.values == (("2026-03-02",),)
    path, _ = min(after["2026-03-02"])
    (origin,) = origins(flow.layout.root, str(flow.layout.table / path))
    assert origin.increment is not None
    assert (origin.increment.increment, origin.increment.recomputation) == (3, "backfill")


def test_a_backfill_that_was_made_already_is_not_made_again(
    flow: JsonPipeline, spark: object
) -> None:
    flow.write(TRANSFORM.format(factor=2))
    ask(flow, "backfill", "first", **days(1, 3))
    version = DeltaTable(flow.layout.table).version()
    reports = ask(flow, "backfill", "second", **days(1, 3))
    assert {step: report.outcome for step, report in reports.items()} == {"doctor": Outcome.SKIPPED}
    assert DeltaTable(flow.layout.table).version() == version


def test_days_to_which_no_row_belongs_are_skipped_once_that_is_known(
    flow: JsonPipeline, spark: object
) -> None:
    assert [*ask(flow, "backfill", "early", **days(20, 21))] == ["doctor"]
    # A row without a day might belong to any, as far as the books tell.
    flow.arrive_text("sales", "torn", [json.dumps(sale("g", 4, 50)), "{"])
    assert flow.run("torn")["publish"].outcome is Outcome.DONE
    reports = ask(flow, "backfill", "again", **days(20, 21))
    assert {step: report.outcome for step, report in reports.items()} == {
        "doctor": Outcome.DONE,
        "ingest": Outcome.SKIPPED,
    }
    assert len(states(flow)) == 3


def test_rows_that_a_mended_rule_accepts_leave_the_rejected_table(
    flow: JsonPipeline, spark: object
) -> None:
    assert len(rejected(flow)) == 1
    flow.write(row_rules={"amount_known": "amount IS NOT NULL"})
    ask(flow, "backfill", "mended", **days(1, 2))
    assert rejected(flow) == []
    assert row("b", 1, -1) in flow.published()
    flow.write(row_rules={"amount_large": "amount > 15"})
    ask(flow, "backfill", "strict", **days(1, 2))
    assert len(rejected(flow)) == 2
    assert [one for one in flow.published() if one[2].day == 1] == [row("f", 1, 50)]


def test_a_dry_run_says_what_would_change_and_changes_nothing(
    flow: JsonPipeline, spark: object
) -> None:
    flow.write(TRANSFORM.format(factor=2))
    version, rows = DeltaTable(flow.layout.table).version(), flow.published()
    before = sorted(flow.layout.home.rglob("*"))
    reports = ask(flow, "backfill", "dry", **days(2, 3), dry_run=True)
    found = reports["ingest"].facts["dry_run"]
    assert (found["partitions"], found["rows"]) == ([["2026-03-02"]], 2)
    assert (found["added"], found["removed"]) == (2, 2)
    assert (DeltaTable(flow.layout.table).version(), flow.published()) == (version, rows)
    runs = flow.layout.runs
    left = [p for p in sorted(flow.layout.home.rglob("*")) if p not in before]
    assert all(p.is_relative_to(runs) or p.is_relative_to(flow.layout.lease) for p in left), left


def test_a_held_backfill_that_is_repeated_is_computed_by_the_mended_transform(
    flow: JsonPipeline, spark: object
) -> None:
    flow.write(TRANSFORM.format(factor=5000))
    assert ask(flow, "backfill", "again", **days(2, 3))["gate"].outcome is Outcome.HELD
    flow.write(TRANSFORM.format(factor=2))
    assert flow.run("again")["publish"].outcome is Outcome.DONE
    assert states(flow)[-2] is State.SUPERSEDED
    assert row("c", 2, 40) in flow.published()


def test_a_redo_computes_the_unpublished_tail_with_todays_code(
    flow: JsonPipeline, spark: object
) -> None:
    flow.arrive("sales", "3", [sale("g", 4, 2000), sale("h", 4, -5)])
    assert flow.run("run-3")["gate"].outcome is Outcome.HELD
    flow.arrive("sales", "4", [sale("i", 5, 60)])
    assert flow.run("run-4")["publish"].outcome is Outcome.WAITING
    flow.write(TRANSFORM.format(factor=0))
    reports = ask(flow, "redo", "mended")
    assert reports["publish"].outcome is Outcome.DONE, reports
    assert states(flow)[2:4] == [State.SUPERSEDED] * 2
    assert [one for one in flow.published() if one[2].day > 3] == [row("g", 4, 0), row("i", 5, 0)]
    assert len(rejected(flow)) == 2
    flow.arrive("sales", "5", [sale("j", 6, 70)])
    flow.go("run-5")
    assert row("j", 6, 0) in flow.published()


def test_what_was_rejected_stays_out_until_it_is_taken_back(
    flow: JsonPipeline, spark: object
) -> None:
    flow.arrive("sales", "3", [sale("g", 2, 2000)])
    assert flow.run("run-3")["gate"].outcome is Outcome.HELD
    flow.arrive("sales", "4", [sale("i", 2, 60)])
    flow.run("run-4")
    before = flow.published()
    ask(flow, "reject", "no", increment=3)
    assert flow.published() == sorted([*before, row("i", 2, 60)], key=repr)
    ask(flow, "backfill", "same", **days(2, 3))
    assert row("g", 2, 2000) not in flow.published()
    reports = ask(flow, "reinstate", "yes", increment=3)
    assert reports["gate"].outcome is Outcome.HELD
    number = reports["ingest"].facts["increment"]
    ask(flow, "release", "let-out", increment=number)
    assert flow.published() == sorted([*before, row("i", 2, 60), row("g", 2, 2000)], key=repr)
    ask(flow, "backfill", "with-it", **days(2, 3))
    assert Snapshot(flow.layout).increments[-1].state is State.HELD


def test_clearing_any_task_of_any_run_in_any_order_changes_nothing(
    flow: JsonPipeline, spark: object
) -> None:
    flow.write(TRANSFORM.format(factor=2))
    ask(flow, "backfill", "again", **days(2, 3))
    flow.arrive("sales", "3", [sale("g", 4, 2000)])
    flow.run("run-3")
    ask(flow, "reject", "no", increment=4)
    table = DeltaTable(flow.layout.table)
    version, rows, events = table.version(), flow.published(), len(_events(flow))
    for event in _events(flow):
        Journal(flow.layout.journal).announce(event.seq)
    every = [(step, run) for run in ("run-1", "run-2", "again", "run-3", "no") for step in STEPS]
    for seed in range(10):
        random.Random(seed).shuffle(every)
        for step, run_id in every[:7]:
            report = flow.step(step, run_id)
            assert report.error is None, (step, run_id, report)
    assert DeltaTable(flow.layout.table).version() == version
    assert flow.published() == rows
    assert len(_events(flow)) == events
    assert Journal(flow.layout.journal).unannounced() == ()


def _events(flow: JsonPipeline) -> list[Any]:
    return Journal(flow.layout.journal).events()
