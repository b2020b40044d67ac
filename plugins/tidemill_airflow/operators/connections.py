"""The Airflow connections of a pipeline, on their way into the processes of its steps.

They travel in the environment of a process, and nowhere else: a command line is readable by every
user of the machine, and Spark's configuration ends up in logs and on pages.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowFailException, AirflowNotFoundException

from tidemill.contract.connections.airflow import variable
from tidemill.contract.objects.root_connection import ROOT_CONNECTION
from tidemill.spec.spec import Spec
from tidemill_airflow.masking import mask

SERVER = "--conn-host HOST --conn-schema DATABASE --conn-login USER"
ADD = {
    "kafka": """--conn-type kafka --conn-extra '{"bootstrap.servers": "HOST:9092"}'""",
    "file": '--conn-type aws --conn-login KEY --conn-extra \'{"region_name": "REGION"}\'',
    "delta": "--conn-type hive_metastore --conn-host HOST --conn-port 9083",
    "postgres": f"--conn-type postgres {SERVER}",
    "iceberg": """--conn-type generic --conn-extra '{"type": "rest", "uri": "https://HOST"}'""",
    "mariadb": f"--conn-type mysql {SERVER}",
    "registry": "--conn-type http --conn-host HOST --conn-port PORT --conn-login USER",
}
ANY = "--conn-type TYPE"


def connection_variables(spec: Spec, *, only: Collection[str] | None = None) -> dict[str, str]:
    """Fetch a spec's connections, mask what is secret in them, and give them as variables.

    That of a root in an object store is one of every spec's.

    Args:
        spec: The spec; its inputs, targets and sink name connections.
        only: The ids of those that are needed; all where not given.

    Returns:
        `AIRFLOW_CONN_<ID>` -> the connection as JSON, as `contract.connections.airflow` reads it.

    Raises:
        AirflowFailException: there is no such connection.
    """
    needed = [one for one in spec.connections if only is None or one in only]
    root = os.environ.get(ROOT_CONNECTION)
    if root:
        needed.append(root)
    return {variable(conn_id): _fetch(conn_id, spec) for conn_id in dict.fromkeys(needed)}


def _fetch(conn_id: str, spec: Spec) -> str:
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException as error:
        add = f"airflow connections add {conn_id} {ADD.get(_kind(conn_id, spec), ANY)}"
        raise AirflowFailException(
            f"There is no connection '{conn_id}', which the spec names. Add it: {add} "
            "(a password rather in the UI, where no list of processes shows it)."
        ) from error
    mask(connection)
    return str(connection.as_json())


def _kind(conn_id: str, spec: Spec) -> str:
    """The use of a connection: the kind of the first source or target that names it.

    A connection that none has as its own is that of a schema registry.
    """
    inputs = (*spec.sources.values(), *spec.statics.values())
    users = (*inputs, *spec.publish, *([spec.sink] if spec.sink else []))
    kinds = (user.kind for user in users if getattr(user, "conn_id", None) == conn_id)
    return next(kinds, "registry")
