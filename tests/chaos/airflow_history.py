"""One history of DAG runs: Airflow's own processes are killed and start again, by a seed.

A group of three pipelines is started by hand in each round, a fourth is woken by the triggerer.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import psycopg

from tests.chaos.airflow_kill import AirflowAim, RunningTask, choose, kill, left
from tests.chaos.campaign_pipelines import INPUT, CampaignPipeline, deliver, pipelines
from tests.chaos.ended import Ended
from tests.chaos.reader_process import reading
from tests.servers.postgres import Postgres
from tests.support.airflow.running_airflow import running, until
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome, read

ROUNDS = 3
GROUP, WOKEN = "campaign", "append_b"
MEMBERS = ("append_a", "update_a", "window_a")
# Airflow misses a killed process within seconds. Its API has longer: all share two cores.
IMPATIENT = {
    "AIRFLOW__SCHEDULER__JOB_HEARTBEAT_SEC": "2",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "15",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "5",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "30",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
    "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "2",
    "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "15",
    "AIRFLOW__WORKERS__SOCKET_CLEANUP_TIMEOUT": "5",
    "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "30",
}
# A task has more tries than there are kills, and several of them are at work at the same time.
TRIES = {"airflow": {"retries": 10, "retry_delay": "1s", "pool": "default_pool"}}
PAUSE = 0.1
# A bound on hanging.
DEADLINE = 1800.0
RUNNING = """
SELECT dag_id, task_id, pid, try_number FROM task_instance
WHERE state = 'running' AND pid IS NOT NULL
"""
RUNS = "SELECT dag_id, run_id, state FROM dag_run ORDER BY run_after"


@dataclass
class AirflowEnded(Ended):
    """What came of a history of DAG runs.

    Attributes:
        kills: Victim and step of each kill.
        refused: Reports of steps that asked for a person.
    """

    kills: list[AirflowAim] = field(default_factory=list)
    refused: int = 0


class AirflowHistory:
    """Some pipelines and an Airflow on PostgreSQL; in a `with` statement they are up.

    Args:
        home: Gets `project/`, `input/`, `root/` and `airflow/`.
        tell: Gets a line for each kill.
        postgres: A server for tables, and for Airflow's metadata.
        members: The group's pipelines.
    """

    def __init__(
        self,
        home: Path,
        seed: int,
        tell: Callable[[str], object],
        postgres: Postgres,
        members: Sequence[str] = MEMBERS,
    ) -> None:
        self.home = home
        self.tell = tell
        self.postgres = postgres
        self.ended = AirflowEnded(seed)
        self.input, self.root = home / "input", home / "root"
        self.members = tuple(members)
        self.pipelines = _pipelines((*members, WOKEN))
        self._stack = ExitStack()
        self._files = self._rounds = 0
        for folder in (self.input, self.root):
            folder.mkdir(parents=True)
        for one in self.pipelines:
            one.write(home / "project")

    def __enter__(self) -> Self:
        warehouse, metadata = self.postgres.fresh_database(), self.postgres.fresh_database()
        environ = {
            **IMPATIENT,
            "TIDEMILL_ROOT": str(self.root),
            "TIDEMILL_PROJECTS": str(self.home / "project"),
            INPUT: str(self.input),
        }
        # A killed scheduler's executor goes on, and keeps the connection and so its locks.
        with self.postgres.connect() as connection:
            limit = "idle_in_transaction_session_timeout = '10s'"
            connection.execute(f"ALTER DATABASE {metadata} SET {limit}".encode())
        dsn = self.postgres.dsn(metadata)
        self.airflow = self._stack.enter_context(
            running(
                self.home / "airflow",
                {**os.environ, **environ},
                {"warehouse": self.postgres.dsn(warehouse)},
                database=dsn,
                restarted=True,
            )
        )
        self._metadata = self._stack.enter_context(psycopg.connect(dsn, autocommit=True))
        self.reader = self._stack.enter_context(
            reading(self.root, self.input, [self.postgres.dsn(warehouse)])
        )
        for dag in (GROUP, WOKEN):
            until(lambda dag=dag: self.airflow.knows(dag), f"{dag} is parsed")
            self.airflow.patch(f"/dags/{dag}", {"is_paused": False})
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def play(self, rounds: int = ROUNDS) -> AirflowEnded:
        """Play rounds of DAG runs with kills, and one without; then compare."""
        began = time.monotonic()
        dags = {GROUP: self.members, WOKEN: (WOKEN,)}
        for _ in range(rounds):
            self.play_round(choose(self._chance(), dags))
        if rounds:
            self.play_round([])
        self.ended.seconds = time.monotonic() - began
        return self.ended

    def play_round(self, aims: Iterable[AirflowAim]) -> None:
        """Deliver files, run both DAGs, kill where it is aimed, and compare."""
        if self.ended.problems:
            return
        self._rounds += 1
        for _ in range(self._chance("files").randint(2, 3)):
            deliver(self.input, self._files)
            self._files += 1
        self._start_group()
        pending, before = [*aims], dict[tuple[AirflowAim, int], int]()
        end = time.monotonic() + DEADLINE
        while not self._is_over():
            if time.monotonic() > end:
                self._problem(f"after {DEADLINE:.0f} s not all is published: {self._runs()}")
                break
            for aim, task in self._due(pending, before):
                pending.remove(aim)
                self._kill(aim, task)
            time.sleep(PAUSE)
        self.ended.missed += len(pending)
        self._compare()

    # -- kills ----------------------------------------------------------------------------------

    def _due(
        self, pending: list[AirflowAim], before: dict[tuple[AirflowAim, int], int]
    ) -> list[tuple[AirflowAim, RunningTask]]:
        """At most one kill whose point has come, so that the next one meets what came of it."""
        tasks = [RunningTask(*row) for row in self._metadata.execute(RUNNING).fetchall()]
        for aim in pending:
            for task in tasks:
                if aim.meets(task):
                    there = left(self.root, aim)
                    if not aim.point or there > before.setdefault((aim, task.number), there):
                        return [(aim, task)]
        return []

    def _kill(self, aim: AirflowAim, task: RunningTask) -> None:
        killed = kill(aim.victim, task, self.airflow.leader)
        if not killed:
            self.ended.missed += 1
            return
        self.ended.kills.append(aim)
        self.tell(
            f"seed {self.ended.seed}, kill {len(self.ended.kills)}: {aim}, "
            f"try {task.number} of {task.task}; {len(killed)} processes"
        )

    def _start_group(self) -> None:
        before = len(self._runs(GROUP))

        def is_started() -> bool:
            if len(self._runs(GROUP)) == before:
                self.airflow.post(f"/dags/{GROUP}/dagRuns", {"logical_date": None})
            return True

        until(is_started, "a run is started")

    # -- what must hold ---------------------------------------------------------------------------

    def _is_over(self) -> bool:
        """Whether no run is at work, and the triggerer has nothing to wake one for."""
        states = {state for _, _, state in self._runs()}
        return not states & {"queued", "running"} and self._published(WOKEN) == self._files

    def _published(self, name: str) -> int:
        """How many files' rows a table has."""
        found: dict[str, int] = self._look()["prefixes"]
        return found.get(f"table {name}", 0)

    def _compare(self) -> None:
        """All input is everywhere, and no run has failed or asked for a person."""
        prefixes = self._look()["prefixes"]
        for one in self.pipelines:
            targets = {"files": "lists", "postgres": "database"}
            kinds = ["table", "rejected", *(targets[t] for t in one.targets if t in targets)]
            for kind in kinds:
                length = prefixes.get(f"{kind} {one.name}", 0)
                if length != self._files:
                    self._problem(f"{kind} {one.name} has {length} of {self._files} files")
        for dag, run_id, state in self._runs():
            if state != "success":
                self._problem(f"run {run_id} of {dag} is {state}")
        self._count_refusals()

    def _count_refusals(self) -> None:
        refused = 0
        for one in self.pipelines:
            runs = Layout(self.root, one.name).runs
            for folder in sorted(runs.iterdir()) if runs.is_dir() else ():
                for step in ("doctor", "ingest", "gate", "publish"):
                    report = read(folder, step)  # type: ignore[arg-type]
                    if report is not None and report.outcome not in (Outcome.DONE, Outcome.SKIPPED):
                        refused += 1
                        self._problem(
                            f"{step} of {one.name} in {folder.name} was {report.outcome}: "
                            f"{report.reason}"
                        )
        self.ended.refused = refused

    def _look(self) -> dict[str, Any]:
        found = self.reader.look()
        self.ended.add_look(found, self._when, self.tell)
        return found

    def _problem(self, problem: str) -> None:
        self.ended.add_problem(problem, self._when, self.tell)

    @property
    def _when(self) -> str:
        return f"round {self._rounds}"

    def _runs(self, dag: str = "") -> list[tuple[str, str, str]]:
        """DAG, run and state."""
        found = self._metadata.execute(RUNS).fetchall()
        return [(one, run_id, state) for one, run_id, state in found if dag in ("", one)]

    def _chance(self, *purpose: object) -> random.Random:
        return random.Random(f"{self.ended.seed} {self._rounds} {purpose}")


def _pipelines(names: Sequence[str]) -> tuple[CampaignPipeline, ...]:
    alone = {"group": None, "wake": {"files": {"poke": "1s"}}}
    return tuple(
        replace(
            one,
            spec={**one.spec, **TRIES, "schedule": None, **(alone if one.name == WOKEN else {})},
        )
        for one in pipelines(database=True)
        if one.name in names
    )
