"""Seven days that the scheduler ran, a transform that was wrong, and the Backfill dialog.

One Airflow for the whole module; the tests are the chapters of one history, in order. Screenshots
of each step are left in `.artefacts/`.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.airflow_ui import AirflowUI
from tests.servers.postgres import Postgres
from tests.support.airflow.running_airflow import Airflow, Person, running, until
from tests.support.pipelines.daily_orders import (
    MENDED,
    day,
    deliver,
    expected,
    files,
    midnight,
)
from tests.support.pipelines.orders_pipeline import NAME, SPEC, OrdersPipeline
from tidemill.contract.project import REPOSITORY
from tidemill.increments.snapshot import Snapshot

PICTURES = REPOSITORY / ".artefacts" / "scheduled-days-in-the-ui"
ADA = Person("ada", secrets.token_urlsafe(12))
DAYS = range(1, 8)
AGAIN = range(4, 6)
# Our DAGs catch nothing up, because one run takes in all that is there. This is Airflow's own hook
# for whoever wants it otherwise.
POLICY = f"""
from datetime import datetime

def dag_policy(dag):
    if dag.dag_id == {NAME!r}:
        dag.catchup = True
        dag.end_date = datetime.fromisoformat({midnight(DAYS.stop - 1).isoformat()!r})
"""


def scheduled(number: int) -> str:
    """The id of a day's run, as the scheduler gives it: a run comes when its day is over."""
    return f"scheduled__{midnight(number + 1).isoformat()}"


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> OrdersPipeline:
    """A daily pipeline that has not run, and the file of its first day."""
    spec = json.loads(json.dumps(SPEC))
    spec["schedule"] = "@daily"
    spec["airflow"] = {"retry_delay": "1s", "start_date": str(day(DAYS.start))}
    mill = OrdersPipeline(tmp_path_factory.mktemp("days"), spec)
    deliver(mill, DAYS.start, quantity=DAYS.start)
    (mill.home / "policy").mkdir()
    (mill.home / "policy" / "airflow_local_settings.py").write_text(POLICY)
    return mill


@pytest.fixture(scope="module")
def airflow(mill: OrdersPipeline, postgres: Postgres, child_airflow: Path) -> Iterator[Airflow]:
    database = postgres.dsn(postgres.fresh_database())
    paths = (str(mill.home / "policy"), mill.environ.get("PYTHONPATH", ""))
    environ = {**mill.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with running(mill.home / "airflow", environ, database=database, person=ADA) as airflow:
        until(lambda: airflow.knows(NAME), "the DAG is parsed")
        airflow.patch(f"/dags/{NAME}", {"is_paused": False})
        yield airflow


@pytest.fixture(scope="module")
def ui(airflow: Airflow, browser: Browser) -> AirflowUI:
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir(parents=True)
    ui = AirflowUI(browser, airflow.url, PICTURES)
    ui.log_in(ADA)
    return ui


def states(airflow: Airflow) -> dict[str, str]:
    """The state of each run, by its id."""
    return {run["dag_run_id"]: run["state"] for run in airflow.runs(NAME)}


def all_ended(airflow: Airflow, run_ids: list[str]) -> bool:
    found = states(airflow)
    return all(found.get(run_id) in ("success", "failed") for run_id in run_ids)


def test_the_scheduler_publishes_each_day_by_a_run_of_its_own(
    mill: OrdersPipeline, airflow: Airflow
) -> None:
    for number in DAYS:
        run_id = scheduled(number)
        until(lambda run_id=run_id: run_id in states(airflow), f"{run_id} is scheduled")
        until(
            lambda run_id=run_id: airflow.states(NAME, run_id)["ingest"] == "success",
            f"{run_id} has taken in its file",
        )
        # The next run begins when this one has been judged and published.
        if number + 1 in DAYS:
            deliver(mill, number + 1, quantity=number + 1)
    ids = [scheduled(number) for number in DAYS]
    until(lambda: all_ended(airflow, ids), "all are published")

    assert states(airflow) == dict.fromkeys(ids, "success")
    assert {run["run_type"] for run in airflow.runs(NAME)} == {"scheduled"}
    assert [one.sealed.run_id for one in Snapshot(mill.layout).increments] == ids
    assert mill.published() == expected(mill, mended=())


def test_while_the_dag_is_paused_the_pages_say_that_the_dialogs_runs_wait(
    mill: OrdersPipeline, airflow: Airflow, ui: AirflowUI
) -> None:
    (mill.home / f"project/spark_jobs/transforms/{NAME}.py").write_text(MENDED)
    airflow.patch(f"/dags/{NAME}", {"is_paused": True})
    ui.backfill(NAME, day(AGAIN.start), day(AGAIN.stop - 1), "All Runs", unpause=False)
    assert {states(airflow)[scheduled(number)] for number in AGAIN} == {"queued"}
    ui.open("tidemill", "pipelines", NAME)
    ui.page.get_by_text(f"{len(AGAIN)} runs wait in Airflow's queue").wait_for()
    ui.picture("queued-while-paused")
    ui.open("tidemill", "dags", NAME, "runs", scheduled(AGAIN.start))
    ui.page.get_by_text("this run waits in Airflow's queue").wait_for()
    about = airflow.get(f"/dags/{NAME}/details")["doc_md"]
    assert "While the DAG is paused, the runs of a backfill stay queued" in about


def test_all_runs_swaps_the_days_that_were_asked_for_and_touches_no_other_file(
    mill: OrdersPipeline, airflow: Airflow, ui: AirflowUI
) -> None:
    before, again = files(mill), [scheduled(number) for number in AGAIN]
    airflow.patch(f"/dags/{NAME}", {"is_paused": False})
    until(lambda: all_ended(airflow, again), "they were reprocessed")
    assert {states(airflow)[run_id] for run_id in again} == {"success"}
    types = {run["dag_run_id"]: run["run_type"] for run in airflow.runs(NAME)}
    assert {types[run_id] for run_id in again} == {"backfill"}
    when = f"from {day(AGAIN.start)} 00:00 to {day(AGAIN.start + 1)} 00:00 (UTC)"
    ui.open("dags", NAME, "runs", again[0], "tasks", "doctor")
    ui.page.get_by_text(f"This run is a backfill {when}").wait_for()
    ui.picture("first-line-of-the-log")
    ui.open("tidemill", "dags", NAME, "runs", again[0])
    ui.page.get_by_text(f"Backfill {when}").wait_for()
    ui.picture("page-of-the-run")

    after, inside = files(mill), {str(day(number)) for number in AGAIN}
    assert {value for value in before | after if after[value] != before[value]} == inside
    assert not any(after[value].keys() & before[value].keys() for value in inside)
    assert mill.published() == expected(mill, mended=AGAIN)
