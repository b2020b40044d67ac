"""The metadata database of a small Airflow: its tables, and our pool."""

import contextlib

from tidemill_airflow.local.pool import POOL, pool_slots


def prepare() -> None:
    """Create or update the database of AIRFLOW_HOME, and the pool in it.

    The environment must be set before, because Airflow reads it when it is first imported.
    """
    from tidemill_airflow.airflow_internals import metadata_database

    metadata_database.create_or_update()
    metadata_database.set_pool(POOL, pool_slots(), "Pipelines at work")


def forget(dag_id: str) -> None:
    """Delete the runs of a DAG, with all that belongs to them."""
    from airflow.exceptions import DagNotFound

    from tidemill_airflow.airflow_internals import metadata_database

    with contextlib.suppress(DagNotFound):
        metadata_database.delete_runs(dag_id)
