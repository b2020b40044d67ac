"""What a process of the triggerer may ask of the metadata database."""

from collections.abc import Sequence

from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

CALLS = {
    "airflow.sdk.execution_time.task_runner:RuntimeTaskInstance.get_dr_count": (
        "dag_id=",
        "states=",
    ),
}


def count_runs(dag_id: str, states: Sequence[str]) -> int:
    """The number of a DAG's runs that are in one of these states."""
    return RuntimeTaskInstance.get_dr_count(dag_id=dag_id, states=[*states])
