"""An Airflow connection as a step sees it: in its environment, never on a command line.

Airflow's own variable is used (`AIRFLOW_CONN_<ID>`, as a URI or as JSON), so that `tidemill run` at
a shell and a task of a DAG find the same connection in the same place.
"""

import json
import os
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from tidemill.contract.errors import UsageError

LONGEST_TEXT = 300


class ConnectionMissing(UsageError):
    """A connection that a spec names is not in the environment; carries `conn_id`."""


class ConnectionUnreadable(UsageError):
    """A connection is neither a URI nor JSON; carries `conn_id`, and none of its content."""


class Connection(BaseModel):
    """A server's address and login; password and extra never show in messages or logs."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    conn_type: str
    host: str | None = None
    port: int | None = None
    login: str | None = None
    password: SecretStr | None = None
    schema_: str | None = Field(default=None, alias="schema")
    extra: SecretStr = SecretStr("{}")

    @property
    def settings(self) -> dict[str, Any]:
        """The connection's extra as plain data."""
        found = json.loads(self.extra.get_secret_value() or "{}")
        return found if isinstance(found, dict) else {}

    def scrubbed(self, text: str) -> str:
        """A driver's message on one line, without the password and the extra's values."""
        secrets = [str(value) for value in self.settings.values() if len(str(value)) > 3]
        if self.password:
            secrets.append(self.password.get_secret_value())
        for secret in secrets:
            if secret:
                text = text.replace(secret, "***")
        return " ".join(text.split())[:LONGEST_TEXT]

    def client_arguments(
        self, settings: Collection[str], database: str, refused: type[UsageError], server: str
    ) -> dict[str, Any]:
        """The connection as arguments of a database's client.

        Args:
            settings: What the client takes from the connection's extra.
            database: The client's name for the connection's `schema`.
            refused: Raised with `key` for any other setting.
            server: What an error calls the database.
        """
        for key in self.settings:
            if key not in settings:
                raise refused(
                    f"The {server} connection's extra has '{key}', which is not taken.",
                    remedy=f"Remove it; known are {', '.join(sorted(settings))}.",
                    key=key,
                )
        fields = {
            "host": self.host,
            "port": self.port,
            "user": self.login,
            "password": self.password.get_secret_value() if self.password else None,
            database: self.schema_,
        }
        given = {name: value for name, value in fields.items() if value is not None}
        return {**self.settings, **given}


def variable(conn_id: str) -> str:
    """The name of the environment variable that holds a connection."""
    return f"AIRFLOW_CONN_{conn_id.upper()}"


def connection(conn_id: str, environ: Mapping[str, str] = os.environ) -> Connection:
    """A connection from the environment.

    Raises:
        ConnectionMissing: the variable is not set.
        ConnectionUnreadable: it holds no connection.
    """
    text = environ.get(variable(conn_id), "").strip()
    if not text:
        raise ConnectionMissing(
            f"There is no connection '{conn_id}', which the spec names.",
            remedy=f"Set the environment variable {variable(conn_id)} to it, as a URI or JSON.",
            remedy_in_airflow="Add it to Airflow (Admin, Connections), or to its secrets backend.",
            conn_id=conn_id,
        )
    try:
        return _of_json(text) if text.startswith("{") else _of_uri(text)
    except (ValueError, ValidationError):
        # Without its cause, which would show what the variable holds.
        raise ConnectionUnreadable(
            f"{variable(conn_id)} is neither a URI nor JSON of an Airflow connection.",
            remedy="Write it as Airflow's documentation of connections says.",
            conn_id=conn_id,
        ) from None


def _of_json(text: str) -> Connection:
    given = json.loads(text)
    extra = given.get("extra") or {}
    given["extra"] = extra if isinstance(extra, str) else json.dumps(extra)
    return Connection.model_validate({k: v for k, v in given.items() if v not in (None, "")})


def _of_uri(text: str) -> Connection:
    parts = urlsplit(text)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    extra = query.pop("__extra__", None) or json.dumps(query)
    return Connection(
        conn_type=parts.scheme.replace("-", "_"),
        host=unquote(parts.hostname) if parts.hostname else None,
        port=parts.port,
        login=unquote(parts.username) if parts.username else None,
        password=SecretStr(unquote(parts.password)) if parts.password else None,
        schema=unquote(parts.path.removeprefix("/")) or None,
        extra=SecretStr(extra),
    )
