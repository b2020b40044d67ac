"""The connection by which the bucket of `TIDEMILL_ROOT` is reached."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from tidemill.contract.connections.airflow import Connection, connection, variable
from tidemill.contract.connections.object_stores import store_settings
from tidemill.contract.objects.errors import REFUSED, ObjectStoreUnreachable

if TYPE_CHECKING:
    from tidemill.contract.objects.client import ObjectClient

ROOT_CONNECTION = "TIDEMILL_ROOT_CONN_ID"
ROOT = "TIDEMILL_ROOT"
# As delta-rs begins an error of the store, and how it sets its causes out.
_OF_STORE = "Generic S3 error"
_SET_OUT = re.compile(r"(?:\x1b\[\d*m|↳|\s)+")
_lookups: list[Callable[[str], str]] = []


def look_up_with(lookup: Callable[[str], str]) -> None:
    """Have this process ask for a connection that no variable of its environment holds.

    Args:
        lookup: Gives a connection by its id, as a variable would hold it; '' where there is none.
    """
    _lookups[:] = [lookup]


def root_login(environ: Mapping[str, str] = os.environ) -> Connection | None:
    """The connection that `TIDEMILL_ROOT_CONN_ID` names; None for the machine's own identity.

    Raises:
        ConnectionMissing: its variable is not set.
        ConnectionUnreadable: it holds no connection.
    """
    conn_id = environ.get(ROOT_CONNECTION)
    return _login(conn_id, _text(conn_id, environ)) if conn_id else None


def _text(conn_id: str, environ: Mapping[str, str]) -> str:
    """The connection's variable, or what stands for it; '' where there is none."""
    given = environ.get(variable(conn_id), "").strip()
    return given or next((lookup(conn_id) for lookup in _lookups), "")


def _login(conn_id: str, text: str) -> Connection:
    return connection(conn_id, {variable(conn_id): text})


def root_variables(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that lead to the bucket, for another process; a secret may be among them."""
    conn_id = environ.get(ROOT_CONNECTION, "")
    names = (ROOT_CONNECTION, variable(conn_id))
    return {name: environ[name] for name in names if name in environ}


def root_settings(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The connection's settings as the client of object stores names them.

    Raises:
        ConnectionMissing: its variable is not set.
        ConnectionUnreadable: it holds no connection.
    """
    login = root_login(environ)
    return store_settings(login) if login else {}


def client_of(scheme: str, bucket: str) -> ObjectClient:
    """The client of a bucket; one for each in a process, as long as its connection is the same."""
    conn_id = os.environ.get(ROOT_CONNECTION, "")
    return _client(scheme, bucket, conn_id, _text(conn_id, os.environ) if conn_id else "")


@cache
def _client(scheme: str, bucket: str, conn_id: str, text: str) -> ObjectClient:
    from tidemill.contract.objects.client import ObjectClient

    login = _login(conn_id, text) if conn_id else None
    return ObjectClient(f"{scheme}://{bucket}", "TIDEMILL_ROOT", login)


def storage_options(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The connection as delta-rs and Polars take it."""
    options = {f"aws_{name}": str(value) for name, value in root_settings(environ).items()}
    plain = options.get("aws_endpoint", "").startswith("http://")
    return options | ({"aws_allow_http": "true"} if plain else {})


def root_unreachable(error: BaseException) -> ObjectStoreUnreachable | None:
    """A store that did not answer delta-rs, as an error of ours; None where it is another."""
    text = _SET_OUT.sub(" ", str(error)).strip()
    if not isinstance(error, OSError) or not text.startswith(_OF_STORE) or REFUSED.search(text):
        return None
    login = root_login()
    return ObjectStoreUnreachable(
        f"{ROOT}: the store cannot be reached: {login.scrubbed(text) if login else text[:300]}",
        remedy="Nothing was lost: the next try goes on from here.",
        url=os.environ.get(ROOT, ""),
        field=ROOT,
    )
