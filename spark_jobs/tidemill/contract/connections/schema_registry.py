"""An Airflow connection of a schema registry, of type `http`, as Airflow's HTTP hook reads it."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tidemill.contract.connections.airflow import Connection
from tidemill.contract.errors import UsageError


class RegistrySettingRefused(UsageError):
    """A schema registry's connection cannot be used; carries `conn_id` and `key`, no value."""


@dataclass(frozen=True)
class RegistryAddress:
    """Where a registry is, and the login that it asks for.

    Attributes:
        url: Without a slash at its end.
        login: User and password; None where it needs neither.
    """

    url: str
    login: tuple[str, str] | None = field(default=None, repr=False)


def registry_address(conn_id: str, connection: Connection) -> RegistryAddress:
    """The address in a connection.

    Args:
        connection: Its host is a URL, or a host to which its schema (`http` or `https`) and port
            belong.

    Raises:
        RegistrySettingRefused: it is not of type `http`, or lacks a part.
    """
    if connection.conn_type not in ("http", "https"):
        raise _refused(conn_id, "conn_type", "must be 'http'")
    if not connection.host:
        raise _refused(conn_id, "host", "is missing")
    given = sorted(connection.settings)
    if given:
        raise _refused(conn_id, "extra", f"has '{given[0]}', which is not taken")
    if connection.password and not connection.login:
        raise _refused(conn_id, "password", "is given without a login")
    scheme = connection.schema_ or connection.conn_type
    url = connection.host if "://" in connection.host else f"{scheme}://{connection.host}"
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise _refused(conn_id, "schema", "must be 'http' or 'https'")
    if parts.username or parts.password:
        raise _refused(conn_id, "host", "holds a login, which belongs into login and password")
    if connection.port is not None:
        url = parts._replace(netloc=f"{parts.netloc}:{connection.port}").geturl()
    password = connection.password.get_secret_value() if connection.password else ""
    login = (connection.login, password) if connection.login else None
    return RegistryAddress(url.rstrip("/"), login)


def _refused(conn_id: str, key: str, why: str) -> RegistrySettingRefused:
    return RegistrySettingRefused(
        f"The '{key}' of the schema registry's connection '{conn_id}' {why}.",
        remedy=f"Correct its environment variable AIRFLOW_CONN_{conn_id.upper()}, such as "
        "http://USER:PASSWORD@HOST:8081/https for an address with TLS.",
        remedy_in_airflow="Correct the connection in Airflow: type http, host, port, login and "
        "password; its schema is http or https.",
        conn_id=conn_id,
        key=key,
    )
