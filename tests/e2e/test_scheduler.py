"""Runs by a running scheduler: what goes through, what is held, what wakes them, who is told.

One Airflow for the whole module; the tests are the chapters of one history, in order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.support.airflow.file_notifier import FileNotifier
from tests.support.airflow.running_airflow import Airflow, running, until
from tests.support.pipelines.orders_pipeline import NAME, SPEC, SUITE, TRANSFORM, OrdersPipeline
from tests.support.pipelines.user_project import write_pipeline
from tests.support.recording_java import RecordingJava
from tidemill.contract.layout import Layout
from tidemill.contract.report import read
from tidemill.increments.increments import Increments, State
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.journal import Journal

EVERY_TWENTY_SECONDS = "* * * * * */20"
WOKEN = "woken"
READER = "reader"
LATE = "late"


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> OrdersPipeline:
    spec = json.loads(json.dumps(SPEC))
    spec["schedule"] = EVERY_TWENTY_SECONDS
    found = OrdersPipeline(tmp_path_factory.mktemp("scheduled"), spec)
    add_woken(found)
    add_reader(found)
    add_late(found)
    return found


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> RecordingJava:
    return RecordingJava(tmp_path_factory.mktemp("java"))


@pytest.fixture(scope="module")
def airflow(mill: OrdersPipeline, java: RecordingJava, child_airflow: Path) -> Iterator[Airflow]:
    with running(mill.home / "airflow", java.first_in(mill.environ)) as airflow:
        until(lambda: airflow.knows(NAME), "the DAG is parsed")
        yield airflow


def add_woken(mill: OrdersPipeline) -> None:
    """A second pipeline beside the first: no schedule, and woken by its files."""
    feed = mill.home / "feed"
    feed.mkdir()
    spec = json.loads(json.dumps(SPEC))
    spec["wake"] = {"files": {"poke": "1s"}}
    spec["sources"]["orders"]["path"] = str(feed)
    write_pipeline(mill.home / "project", WOKEN, spec, transform=TRANSFORM, suite=SUITE)


def add_reader(mill: OrdersPipeline) -> None:
    """A third that reads the second's table, and looks at it itself once a day."""
    schema = "id string, quantity int, at timestamp, day date"
    spec = {
        "sources": {"orders": {"kind": "table", "pipeline": WOKEN, "schema": schema}},
        "wake": {"tables": {"poke": "1 day"}},
    }
    transform = "def transform(orders):\n    return orders\n"
    write_pipeline(mill.home / "project", READER, spec, transform=transform, suite=SUITE)


def add_late(mill: OrdersPipeline) -> None:
    """A fourth: it expects data every second, and its DAG stays paused."""
    spec = json.loads(json.dumps(SPEC))
    spec["expect"] = {"every": "1s"}
    spec["notify"] = {
        "notifier": f"{FileNotifier.__module__}.{FileNotifier.__qualname__}",
        "args": {"file": str(mill.home / "told"), "text": "{message}"},
    }
    write_pipeline(mill.home / "project", LATE, spec, transform=TRANSFORM, suite=SUITE)


def increments(mill: OrdersPipeline) -> Increments:
    return Increments(mill.layout.increments)


def run_of(mill: OrdersPipeline, airflow: Airflow, number: int) -> dict[str, Any]:
    """The DAG run that sealed an increment."""
    run_id = increments(mill).sealed(number).run_id
    return next(run for run in airflow.runs(NAME) if run["dag_run_id"] == run_id)


def finished(mill: OrdersPipeline, airflow: Airflow, number: int) -> bool:
    if number not in increments(mill).numbers():
        return False
    return run_of(mill, airflow, number)["state"] in ("success", "failed")


def test_airflow_tells_of_a_run_that_has_not_ended_when_the_next_data_are_due(
    mill: OrdersPipeline, airflow: Airflow
) -> None:
    until(lambda: airflow.knows(LATE), "the DAG is parsed")
    run = airflow.post(f"/dags/{LATE}/dagRuns", {"logical_date": None})
    told = mill.home / "told"
    until(told.exists, "Airflow has called the notifier")
    (line,) = told.read_text().splitlines()
    assert line.startswith(f"{LATE} is late. Run {run['dag_run_id']} was queued")


def test_three_increments_in_a_row_are_scheduled_runs(
    mill: OrdersPipeline, airflow: Airflow
) -> None:
    airflow.patch(f"/dags/{NAME}", {"is_paused": False})
    for day in (1, 2, 3):
        mill.deliver_days(range(day, day + 1))
        until(lambda day=day: finished(mill, airflow, day), f"increment {day} is through")

    runs = [run_of(mill, airflow, number) for number in (1, 2, 3)]
    assert [run["run_type"] for run in runs] == ["scheduled"] * 3
    assert [run["state"] for run in runs] == ["success"] * 3
    for run in runs:
        start, end = (datetime.fromisoformat(run[f"data_interval_{x}"]) for x in ("start", "end"))
        assert (end - start).total_seconds() == 20
    mill.assert_whole()


def test_each_increment_has_told_its_consumers_once(mill: OrdersPipeline, airflow: Airflow) -> None:
    until(lambda: not Journal(mill.layout.journal).unannounced(), "all are announced")
    events = airflow.asset_events()
    told = sorted((e["extra"]["increment"], e["extra"]["rows"]) for e in events)
    assert told == [(1, 20), (2, 20), (3, 20)]


def test_a_run_with_nothing_to_do_is_skipped_without_a_jvm(
    mill: OrdersPipeline, airflow: Airflow, java: RecordingJava
) -> None:
    def idle() -> list[str]:
        done = [r["dag_run_id"] for r in airflow.runs(NAME) if r["state"] == "success"]
        return [r for r in done if airflow.states(NAME, r)["ingest"] == "skipped"]

    known = set(idle())
    started = java.starts()
    run_id = until(lambda: set(idle()) - known, "a run is skipped").pop()

    assert java.starts() == started
    assert started > 0
    assert set(airflow.states(NAME, run_id).values()) == {"skipped"}
    doctor = read(mill.layout.run(run_id), "doctor")
    assert doctor is not None
    assert doctor.facts["new"] == {"orders": 0}


def test_a_bad_increment_is_held_and_good_ones_wait_behind_it(
    mill: OrdersPipeline, airflow: Airflow
) -> None:
    before = mill.published()
    bad = [f"4-{n},-1,2026-03-04 00:00:00" for n in range(20)]
    mill.deliver("day-04.csv", bad)
    until(lambda: finished(mill, airflow, 4), "increment 4 is judged")
    mill.deliver_days(range(5, 6))
    until(lambda: finished(mill, airflow, 5), "increment 5 is judged")

    assert [i.state for i in Snapshot(mill.layout).increments][3:] == [State.HELD, State.PASSED]
    held, waiting = (run_of(mill, airflow, number)["dag_run_id"] for number in (4, 5))
    assert airflow.states(NAME, held)["gate"] == "failed"
    assert airflow.states(NAME, held)["publish"] == "upstream_failed"
    assert airflow.states(NAME, waiting)["publish"] == "skipped"
    assert mill.published() == before


def test_clearing_the_gate_after_the_threshold_was_mended_lets_all_out_in_order(
    mill: OrdersPipeline, airflow: Airflow
) -> None:
    suite = json.loads(mill.suite.read_text())
    suite["expectations"][0]["kwargs"]["min_value"] = -1
    mill.suite.write_text(json.dumps(suite))
    run_id = run_of(mill, airflow, 4)["dag_run_id"]

    airflow.post(
        f"/dags/{NAME}/clearTaskInstances",
        {
            "dry_run": False,
            "dag_run_id": run_id,
            "task_ids": ["gate"],
            "include_downstream": True,
            "only_failed": False,
        },
    )
    until(lambda: len(Journal(mill.layout.journal).events()) == 5, "both are out")
    until(lambda: run_of(mill, airflow, 4)["state"] == "success", "the cleared run is through")

    assert [e.increment for e in Journal(mill.layout.journal).events()] == [1, 2, 3, 4, 5]
    mill.assert_whole()


def rows_of(mill: OrdersPipeline, name: str) -> int:
    table = Layout(mill.root, name).table
    if not DeltaTable.is_deltatable(str(table)):
        return 0
    return int(DeltaTable(table).to_pyarrow_table().num_rows)


def test_a_file_that_arrives_starts_a_run_of_a_pipeline_without_a_schedule(
    mill: OrdersPipeline, airflow: Airflow
) -> None:
    airflow.patch(f"/dags/{NAME}", {"is_paused": True})
    for name in (READER, WOKEN):
        airflow.patch(f"/dags/{name}", {"is_paused": False})
    feed = mill.home / "feed"
    mill.deliver("first.csv", ["1,1,2026-03-01 00:00:00"]).rename(feed / "first.csv")
    first = until(lambda: airflow.runs(WOKEN), "the first file woke it")[0]["dag_run_id"]
    until(lambda: airflow.states(WOKEN, first)["ingest"] == "success", "the first file is in")
    # What arrives while a run is at work waits for the next, of which there is one.
    for n in (2, 3, 4):
        mill.deliver(f"{n}.csv", [f"{n},1,2026-03-01 00:00:00"]).rename(feed / f"{n}.csv")
    until(lambda: rows_of(mill, WOKEN) == 4, "all four files are published")
    until(lambda: {run["state"] for run in airflow.runs(WOKEN)} == {"success"}, "all runs end")
    runs = airflow.runs(WOKEN)
    assert {run["run_type"] for run in runs} == {"asset_triggered"}
    assert len(runs) in (2, 3)
    events = airflow.asset_events()
    woken = [e["extra"]["payload"] for e in events if e["extra"].get("from_trigger")]
    assert woken[0] == {"new": {"orders": 1}, "trouble": None}


def test_what_it_publishes_starts_the_pipeline_that_reads_its_table(
    mill: OrdersPipeline, airflow: Airflow
) -> None:
    until(lambda: rows_of(mill, READER) == 4, "all four rows have come through")
    until(lambda: airflow.ended(READER), "all its runs end")
    runs = airflow.runs(READER)
    assert {(run["run_type"], run["state"]) for run in runs} == {("asset_triggered", "success")}
    started_by = [
        event["source_dag_id"]
        for run in runs
        for event in airflow.get(f"/dags/{READER}/dagRuns/{run['dag_run_id']}/upstreamAssetEvents")[
            "asset_events"
        ]
    ]
    assert {*started_by} == {WOKEN}
