"""Two backfills of overlapping days and a live publish, made to happen between P and the swap."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.servers.postgres import Postgres
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.recompute_requests import ask, days
from tests.support.pipelines.sales_pipeline import DDL, TRANSFORM, sale
from tidemill.contract.report import Outcome, Report, Step
from tidemill.engine.recompute import recompute as engine
from tidemill.journal.journal import Journal
from tidemill.ledger.run_increment import tries

SPEC = {
    "event_time": {"column": "at"},
    "output": {"partition_by": {"day": "to_date(at)"}},
    "publish": [
        {"kind": "delta"},
        {"kind": "postgres", "conn_id": "warehouse", "table": "sales"},
    ],
}
PATIENCE = 300.0


def test_a_backfill_that_lost_its_race_is_computed_again_and_nothing_is_lost(
    tmp_path: Path, spark: object, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = postgres.fresh_database()
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", postgres.dsn(database))
    flow = JsonPipeline(tmp_path, {"sales": DDL}, SPEC, TRANSFORM.format(factor=1))
    flow.arrive("sales", "1", [sale(f"a{day}", day, day) for day in (1, 2, 3, 4)])
    flow.go("run-1")
    flow.write(TRANSFORM.format(factor=10))
    flow.arrive("sales", "2", [sale("late", 2, 7), sale("new", 5, 5)])
    computed, published = (threading.Barrier(3, timeout=PATIENCE) for _ in range(2))
    compute, met = engine.recompute, set[str]()

    def compute_and_meet(*args: Any) -> engine.Recomputed:
        found = compute(*args)
        run_id = args[1].run_id
        if run_id not in met:
            met.add(run_id)
            computed.wait()
            published.wait()
        return found

    monkeypatch.setattr(engine, "recompute", compute_and_meet)
    reports: dict[str, dict[Step, Report]] = {}

    def backfill(run_id: str, first: int, end: int) -> None:
        reports[run_id] = ask(flow, "backfill", run_id, **days(first, end))

    threads = [
        threading.Thread(target=backfill, args=("A", 1, 3)),
        threading.Thread(target=backfill, args=("B", 2, 4)),
    ]
    for thread in threads:
        thread.start()
    computed.wait()
    flow.go("run-2")
    published.wait()
    for thread in threads:
        thread.join(PATIENCE)
    assert {name: report["publish"].outcome for name, report in reports.items()} == {
        "A": Outcome.DONE,
        "B": Outcome.DONE,
    }
    # Both lost to the live publish, and of the two that overlap one may have lost once more.
    assert all(tries(flow.layout.run(name)) >= 2 for name in ("A", "B"))
    expected = Counter(
        [
            ("a1", 10, date(2026, 3, 1)),
            ("a2", 20, date(2026, 3, 2)),
            ("late", 70, date(2026, 3, 2)),
            ("a3", 30, date(2026, 3, 3)),
            ("a4", 4, date(2026, 3, 4)),
            ("new", 50, date(2026, 3, 5)),
        ]
    )
    assert Counter(flow.published()) == expected
    with postgres.connect(database) as connection:
        rows = connection.execute("SELECT id, total, day FROM sales").fetchall()
    assert Counter(rows) == expected
    kinds = [event.kind for event in Journal(flow.layout.journal).events()]
    assert kinds == ["increment", "increment", "swap", "swap"]
