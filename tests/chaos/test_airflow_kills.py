"""Airflow's own processes are killed once each; `make chaos AIRFLOW=1 SEED=1` plays more."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.chaos.airflow_history import GROUP, WOKEN, AirflowHistory
from tests.chaos.airflow_kill import (
    POINTS,
    SCHEDULER,
    TASK,
    TRIGGERER,
    AirflowAim,
    RunningTask,
    choose,
)
from tests.servers.postgres import Postgres

DAGS = {GROUP: ("append_a", "window_a"), WOKEN: (WOKEN,)}


@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("child_airflow")
def test_runs_end_by_themselves_after_kills_of_a_task_the_scheduler_and_the_triggerer(
    tmp_path: Path, postgres: Postgres
) -> None:
    aims = [
        AirflowAim(TRIGGERER, WOKEN, WOKEN, "doctor", ""),
        AirflowAim(TASK, GROUP, "append_a", "ingest", "checkpoints/*/offsets/*"),
        AirflowAim(SCHEDULER, GROUP, "append_a", "publish", ""),
    ]
    home = tmp_path / "history"
    with AirflowHistory(home, 1, print, postgres, ["append_a"]) as history:
        history.play_round(aims)
    assert history.ended.problems == []
    assert {*history.ended.kills} == {*aims}
    assert {*history.ended.looks} >= {"table", "rejected", "lists", "database"}


def test_a_seed_chooses_the_same_kills_each_time() -> None:
    def chosen(seed: int) -> list[AirflowAim]:
        return choose(random.Random(seed), DAGS)

    assert chosen(7) == chosen(7)
    assert chosen(7) != chosen(8)
    assert all(aim.point in POINTS[aim.step] for aim in chosen(7))


def test_a_kill_comes_in_the_tasks_of_its_step_and_pipeline() -> None:
    aim = AirflowAim(TASK, GROUP, "append_a", "gate", "")
    assert aim.meets(RunningTask(GROUP, "append_a.gate", 1, 1))
    assert not aim.meets(RunningTask(GROUP, "window_a.gate", 1, 1))
    assert not aim.meets(RunningTask(GROUP, "append_a.publish", 1, 1))
    shared = AirflowAim(TASK, GROUP, "append_a", "ingest", "")
    assert shared.meets(RunningTask(GROUP, "ingest", 1, 1))
    assert not shared.meets(RunningTask(WOKEN, "ingest", 1, 1))
