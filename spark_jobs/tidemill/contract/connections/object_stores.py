"""Connections to object stores of Airflow's, as the client of object stores takes them."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from tidemill.contract.connections.airflow import Connection
from tidemill.contract.errors import UsageError

# Settings of an extra under Airflow's names -> the client's.
AMAZON = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
    "endpoint_url": "endpoint",
    "region_name": "region",
}
GOOGLE = {
    "endpoint_url": "base_url",
    "is_anonymous": "skip_signature",
    "key_path": "service_account_path",
    "keyfile_dict": "service_account_key",
    "keyfile_path": "service_account_path",
}
MICROSOFT = {
    "sas_token": "sas_token",
    "tenant_id": "tenant_id",
}
# Settings of Airflow's other hooks, which do not matter to reading objects.
PASSED_OVER = frozenset({"project", "num_retries", "scope"})
# Not secret, and without them a log says nothing.
READABLE = PASSED_OVER | frozenset(
    {
        "endpoint_url",
        "is_anonymous",
        "key_path",
        "keyfile_path",
        "region_name",
        "tenant_id",
    }
)
# What Airflow's forms add to the name of a setting.
GOOGLE_FORM = "extra__google_cloud_platform__"


class ObjectStoreSettingRefused(UsageError):
    """A connection to an object store has an unknown setting or kind; carries `key`, no value."""


def store_settings(connection: Connection) -> dict[str, Any]:
    """A connection as settings of the client.

    Args:
        connection: One of type `aws`, `google_cloud_platform`, `wasb` or `adls`.

    Raises:
        ObjectStoreSettingRefused: it is of another type, or has a setting that is not taken.
    """
    build = KINDS.get(connection.conn_type)
    if build is None:
        raise ObjectStoreSettingRefused(
            f"A connection of type '{connection.conn_type}' leads to no object store.",
            remedy=f"Use one of type {', '.join(KINDS)}.",
            key="conn_type",
        )
    return {name: value for name, value in build(connection).items() if value is not None}


def _amazon(connection: Connection) -> dict[str, Any]:
    login = {"access_key_id": connection.login, "secret_access_key": _password(connection)}
    return login | _renamed(connection, AMAZON)


def _google(connection: Connection) -> dict[str, Any]:
    found = _renamed(connection, GOOGLE, prefix=GOOGLE_FORM)
    key = found.get("service_account_key")
    return found | ({"service_account_key": json.dumps(key)} if isinstance(key, dict) else {})


def _microsoft(connection: Connection) -> dict[str, Any]:
    address = _address(connection.host or "")
    found = _renamed(connection, MICROSOFT) | {"endpoint": address}
    if "tenant_id" in found:
        login = {"client_id": connection.login, "client_secret": _password(connection)}
        return found | login | {"account_name": _account(address)}
    return {"account_name": connection.login, "account_key": _password(connection)} | found


KINDS: dict[str, Callable[[Connection], dict[str, Any]]] = {
    "aws": _amazon,
    "google_cloud_platform": _google,
    "wasb": _microsoft,
    "adls": _microsoft,
}


def _address(host: str) -> str | None:
    """The address of an account, which Airflow's connections to Azure have as their host."""
    if "://" in host:
        return host.rstrip("/")
    return f"https://{host}" if "." in host else None


def _account(address: str | None) -> str | None:
    host = urlsplit(address or "").hostname or ""
    return host.partition(".")[0] if ".core." in host else None


def _renamed(connection: Connection, names: dict[str, str], prefix: str = "") -> dict[str, Any]:
    found = {}
    for key, value in connection.settings.items():
        name = names.get(key.removeprefix(prefix))
        if name is None and prefix and key.removeprefix(prefix) in PASSED_OVER:
            continue
        if name is None:
            raise ObjectStoreSettingRefused(
                f"The extra of a connection of type {connection.conn_type} has '{key}', which is "
                "not taken.",
                remedy=f"Remove it; known are {', '.join(sorted(names))}.",
                key=key,
            )
        found[name] = value
    return found


def _password(connection: Connection) -> str | None:
    return connection.password.get_secret_value() if connection.password else None
