"""What of an Airflow connection no log may show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from airflow.sdk.log import mask_secret

from tidemill.contract.connections import iceberg as iceberg_connection
from tidemill.contract.connections import kafka as kafka_connection
from tidemill.contract.connections import mariadb as mariadb_connection
from tidemill.contract.connections import object_stores
from tidemill.contract.connections import postgres as postgres_connection

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


def mask(connection: Connection) -> None:
    """Have Airflow mask in logs what is secret in a connection."""
    # In one message to the supervisor, which masks the logs that it writes.
    mask_secret(list(secrets_of(connection)))


def secrets_of(connection: Connection) -> Iterator[str]:
    """Everything of a connection that must not be read in a log, in each way it may be written."""
    whole = (connection.get_uri(), connection.as_json(), connection.extra or "")
    for text in (*whole, connection.password or "", *_texts(connection.extra_dejson)):
        yield from _spellings(text)
        lines = text.splitlines()
        if len(lines) > 1:
            yield from (line for line in lines if len(line) >= SHORTEST_LINE)


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
