"""The connection of a root in an object store, for the processes of Airflow's that read there.

A step has it in its environment. The API server, the triggerer and the tasks themselves ask
Airflow, whose database or secrets backend may be the only place that has it.
"""

from __future__ import annotations

import time
from functools import lru_cache

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException

from tidemill_airflow.masking import mask

# A changed password is used after so long at the latest.
KEPT_SECONDS = 30.0


def root_connection(conn_id: str) -> str:
    """The connection as JSON, masked in logs; '' where Airflow has none."""
    try:
        return _fetch(conn_id, int(time.monotonic() // KEPT_SECONDS))
    except AirflowNotFoundException:
        return ""


@lru_cache(maxsize=1)
def _fetch(conn_id: str, _period: int) -> str:
    connection = BaseHook.get_connection(conn_id)
    mask(connection)
    return str(connection.as_json())
