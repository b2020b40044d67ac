"""Which pipeline and step a task belongs to: by its own id, or by that of its DAG."""

from __future__ import annotations

from typing import cast

from spark_jobs.contract.report import Step


def pipeline_of(dag_id: str, task_id: str) -> str:
    """A pipeline's DAG is named after it; in a group's each has a task group of its name."""
    return task_id.rpartition(".")[0] or dag_id


def step_of(task_id: str) -> Step:
    """The step that a task runs."""
    return cast("Step", task_id.rpartition(".")[2])
