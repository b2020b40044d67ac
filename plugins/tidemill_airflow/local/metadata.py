"""The metadata database of a small Airflow: its tables, and our pool."""

import contextlib

from tidemill_airflow.local.pool import POOL, pool_slots


def prepare() -> None:
    """Create or update the database of AIRFLOW_HOME, and the pool in it.

    The environment must be set before, because Airflow reads it when it is first imported.
    """
    from airflow.models.pool import Pool
    from airflow.utils import db

    db.initdb()
    Pool.create_or_update_pool(
        POOL, slots=pool_slots(), description="Pipelines at work", include_deferred=False
    )


def forget(dag_id: str) -> None:
    """Delete the runs of a DAG, with all that belongs to them."""
    from airflow.api.common.delete_dag import delete_dag
    from airflow.exceptions import DagNotFound

    with contextlib.suppress(DagNotFound):
        delete_dag(dag_id, keep_records_in_log=False)
