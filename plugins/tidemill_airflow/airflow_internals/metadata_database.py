"""Airflow's metadata database, as the command line of an Airflow on one machine changes it."""

from airflow.api.common.delete_dag import delete_dag
from airflow.models.pool import Pool
from airflow.utils import db

CALLS = {
    "airflow.api.common.delete_dag:delete_dag": ("dag_id", "keep_records_in_log="),
    "airflow.models.pool:Pool.create_or_update_pool": (
        "name",
        "slots=",
        "description=",
        "include_deferred=",
    ),
    "airflow.utils.db:initdb": (),
}


def create_or_update() -> None:
    """Create or update the database of AIRFLOW_HOME."""
    db.initdb()


def set_pool(name: str, slots: int, description: str) -> None:
    """Create or update a pool, in which a task that is deferred takes no slot."""
    Pool.create_or_update_pool(name, slots=slots, description=description, include_deferred=False)


def delete_runs(dag_id: str) -> None:
    """Delete the runs of a DAG, with all that belongs to them.

    Raises:
        DagNotFound: the database has no such DAG.
    """
    delete_dag(dag_id, keep_records_in_log=False)
