"""The Airflow connections of a pipeline, on their way into the processes of its steps.

They travel in the environment of a process, and nowhere else: a command line is readable by every
user of the machine, and Spark's configuration ends up in logs and on pages.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowFailException, AirflowNotFoundException
from airflow.sdk.log import mask_secret

from tidemill.contract.connections import iceberg as iceberg_connection
from tidemill.contract.connections import kafka as kafka_connection
from tidemill.contract.connections import mariadb as mariadb_connection
from tidemill.contract.connections import object_stores
from tidemill.contract.connections import postgres as postgres_connection
from tidemill.contract.connections.airflow import variable
from tidemill.contract.objects.root_connection import ROOT_CONNECTION
from tidemill.spec.spec import Spec

if TYPE_CHECKING:
    from airflow.sdk import Connection

# Settings of an extra that are not secret, and without which a log says nothing: addresses, time
# limits, users. All others are masked: secrets may have any name.
READABLE = (
    kafka_connection.OF_BOTH
    | kafka_connection.OF_LIBRDKAFKA
    | kafka_connection.OF_AIRFLOW
    | {"sasl.mechanism", "sasl.mechanisms", "sasl.username"}
    | {*kafka_connection.TLS_FILES, "ssl.endpoint.identification.algorithm"}
    | iceberg_connection.PLAIN
    | (postgres_connection.EXTRAS - {"options", "sslpassword"})
    | object_stores.READABLE
    | (mariadb_connection.EXTRAS - {"ssl_key_password"})
)
# A shorter line of a certificate or key is its last, or padding; masking it hides half the log.
SHORTEST_LINE = 16
SERVER = "--conn-host HOST --conn-schema DATABASE --conn-login USER"
ADD = {
    "kafka": """--conn-type kafka --conn-extra '{"bootstrap.servers": "HOST:9092"}'""",
    "file": '--conn-type aws --conn-login KEY --conn-extra \'{"region_name": "REGION"}\'',
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


def secrets_of(connection: Connection) -> Iterator[str]:
    """Everything of a connection that must not be read in a log, in each way it may be written."""
    whole = (connection.get_uri(), connection.as_json(), connection.extra or "")
    for text in (*whole, connection.password or "", *_texts(connection.extra_dejson)):
        yield from _spellings(text)
        lines = text.splitlines()
        if len(lines) > 1:
            yield from (line for line in lines if len(line) >= SHORTEST_LINE)


def _fetch(conn_id: str, spec: Spec) -> str:
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException as error:
        add = f"airflow connections add {conn_id} {ADD.get(_kind(conn_id, spec), ANY)}"
        raise AirflowFailException(
            f"There is no connection '{conn_id}', which the spec names. Add it: {add} "
            "(a password rather in the UI, where no list of processes shows it)."
        ) from error
    # In one message to the supervisor, which masks the logs that it writes.
    mask_secret(list(secrets_of(connection)))
    return str(connection.as_json())


def _kind(conn_id: str, spec: Spec) -> str:
    """The use of a connection: the kind of the first source or target that names it.

    A connection that none has as its own is that of a schema registry.
    """
    inputs = (*spec.sources.values(), *spec.statics.values())
    users = (*inputs, *spec.publish, *([spec.sink] if spec.sink else []))
    kinds = (user.kind for user in users if getattr(user, "conn_id", None) == conn_id)
    return next(kinds, "registry")


def _texts(value: Any, name: str = "") -> Iterator[str]:
    """Every text and number of an extra, however deep, but for those that are readable."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, str(key))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, name)
    elif isinstance(value, str | int | float) and name not in READABLE:
        yield str(value)


def _spellings(text: str) -> Iterator[str]:
    """A secret as it is, in a URL, in JSON, and between the quotes of a JAAS configuration."""
    in_json = json.dumps(text)[1:-1]
    in_jaas = text.replace("\\", "\\\\").replace('"', '\\"')
    yield from dict.fromkeys(
        (text, quote(text), quote(text, safe=""), quote_plus(text), in_json, in_jaas)
    )
