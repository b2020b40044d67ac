"""A kill of one of Airflow's own processes: which one, and where in which task."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

TASK, WORKER, WORKER_AND_TASK = "task runner", "worker", "worker and its task"
SCHEDULER, SCHEDULER_AND_ALL = "scheduler", "scheduler and its workers"
TRIGGERER = "triggerer"
VICTIMS = (TASK, WORKER, WORKER_AND_TASK, SCHEDULER, SCHEDULER_AND_ALL, TRIGGERER)
# Step -> what the task has left when it is hit, below its pipeline; an empty text: it has begun.
POINTS: Mapping[str, Sequence[str]] = {
    "doctor": ("",),
    "ingest": ("", "lease/*.json", "checkpoints/*/offsets/*", "ledger/live-0001/0*.json"),
    "gate": ("", "increments/*/sealed.json"),
    "publish": ("", "journal/0*.json"),
}


@dataclass(frozen=True)
class RunningTask:
    """A task that Airflow's database says is running.

    Args:
        pid: The pid of its task runner.
        number: The number of its try, from 1.
    """

    dag: str
    task: str
    pid: int
    number: int

    @property
    def step(self) -> str:
        return self.task.rpartition(".")[2]

    @property
    def pipeline(self) -> str:
        """Whose task it is; empty for those that a group's pipelines share."""
        return self.task.rpartition(".")[0]


@dataclass(frozen=True)
class AirflowAim:
    """A kill that is to come.

    Args:
        victim: One of `VICTIMS`.
        dag: The DAG in whose run it comes.
        pipeline: The one whose files are looked at, and whose task it is where each has its own.
        step: The step of the task that is at work.
        point: What it has left by then, as in `POINTS`.
    """

    victim: str
    dag: str
    pipeline: str
    step: str
    point: str

    def meets(self, task: RunningTask) -> bool:
        """Whether it may come in a task."""
        own = task.pipeline in ("", self.pipeline)
        return task.dag == self.dag and task.step == self.step and own

    def __str__(self) -> str:
        point = f"after {self.pipeline}/{self.point}" if self.point else "at its begin"
        return f"{self.victim} in {self.step} of {self.dag} {point}"


def choose(chance: random.Random, dags: Mapping[str, Sequence[str]]) -> list[AirflowAim]:
    """The kills of one round, one for most steps of a run.

    Args:
        dags: DAG -> its pipelines.
    """
    found = []
    for step in POINTS:
        for dag, pipelines in dags.items():
            aim = AirflowAim(
                chance.choice(VICTIMS),
                dag,
                chance.choice(pipelines),
                step,
                chance.choice(POINTS[step]),
            )
            if chance.random() < 0.6:
                found.append(aim)
    return found


def left(root: Path, aim: AirflowAim) -> int:
    """How many files of its point there are."""
    return sum(1 for _ in (root / aim.pipeline).glob(aim.point)) if aim.point else 0


def kill(victim: str, task: RunningTask, leader: int) -> list[int]:
    """Send SIGKILL; returns the pids that got it, none where the victim was gone.

    Args:
        victim: One of `VICTIMS`.
        task: That is at work, as the database says.
        leader: The first process of the session of all of Airflow's.
    """
    with suppress(psutil.NoSuchProcess):
        found = [*_victims(victim, task, leader)]
        # The parent first: it must not tell of its child's end.
        return [process.pid for process in found if _is_killed(process)]
    return []


def _victims(victim: str, task: RunningTask, leader: int) -> Iterator[psutil.Process]:
    if victim in (SCHEDULER, SCHEDULER_AND_ALL, TRIGGERER):
        part = victim.split()[0]
        yield from (first for first in _parts(part, leader))
        if victim == SCHEDULER_AND_ALL:
            yield from [one for first in _parts(part, leader) for one in first.children(True)]
        return
    runner = psutil.Process(task.pid)
    if victim in (WORKER, WORKER_AND_TASK):
        parent = runner.parent()
        # The parent of an orphan is the machine's first process.
        if parent is None or "LocalExecutor" not in " ".join(parent.cmdline()):
            return
        yield parent
    if victim == WORKER_AND_TASK:
        yield from runner.children(recursive=True)
    if victim in (TASK, WORKER_AND_TASK):
        yield runner


def _parts(part: str, leader: int) -> list[psutil.Process]:
    """The first process of the scheduler or of the triggerer."""
    loops = psutil.Process(leader).children()
    return [
        process
        for loop in loops
        for process in loop.children()
        if _is_part(process.cmdline(), part)
    ]


def _is_part(words: Sequence[str], part: str) -> bool:
    return part in " ".join(words).split()


def _is_killed(process: psutil.Process) -> bool:
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
        return True
    return False
