"""Which pipeline and step a task belongs to: by its own id, or by that of its DAG."""

from typing import cast

from tidemill.contract.report import Step

# Behind a pipeline's name it names its companion DAG; no name of a pipeline may end in it.
RESOLVE = "__resolve"
# The tag of all companion DAGs, by which Airflow's list of DAGs leaves them out.
RESOLVE_TAG = "resolve"


def resolve_id(pipeline: str) -> str:
    """The id of the DAG in which a person decides what becomes of a pipeline's increments."""
    return pipeline + RESOLVE


def pipeline_of(dag_id: str, task_id: str) -> str:
    """A pipeline's DAGs are named after it; in a group's each has a task group of its name."""
    return task_id.rpartition(".")[0] or dag_id.removesuffix(RESOLVE)


def step_of(task_id: str) -> Step:
    """The step that a task runs."""
    return cast("Step", task_id.rpartition(".")[2])
