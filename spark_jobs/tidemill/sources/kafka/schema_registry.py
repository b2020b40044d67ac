"""A client of a schema registry with Confluent's HTTP interface, which Karapace and Apicurio speak.

Ids and versions are given out once: what a registry says of one is true for as long as it lives.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx
from fastavro.repository.base import AbstractSchemaRepository
from fastavro.schema import load_schema

from tidemill.contract.connections.airflow import connection
from tidemill.contract.connections.schema_registry import RegistryAddress, registry_address
from tidemill.contract.errors import TransientError, UsageError

PATIENCE_SECONDS = 10.0
# The registry's own codes for what is not there; any other 404 comes from a wrong address.
NO_SUBJECT, NO_VERSION, NO_SCHEMA = 40401, 40402, 40403
AVRO, PROTOBUF = "AVRO", "PROTOBUF"
# Protobuf as its compiled descriptor, in base64, and not as text.
COMPILED = "?format=serialized"
# The file of the schema itself; the others have the names under which it imports them.
MAIN_FILE = "tidemill/value.proto"
# The type to which the others of a schema refer, under a name that no schema has.
ROOT = "tidemill.root"


class RegistryUnreachable(TransientError):
    """A schema registry does not answer, or not now; carries `url` and `reason`."""


class RegistryRefuses(UsageError):
    """A schema registry refuses the login, or the address is not a registry's; carries `url`."""


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema as a registry has it.

    Attributes:
        kind: `AVRO`, `PROTOBUF` or `JSON`.
        text: The schema; if it is Avro, with all types that it refers to; if it is Protobuf, as the
            JSON of file name -> `FileDescriptorProto` in base64, with all that it imports but the
            files of Google's own.
        subject: A subject that has it; None where the registry does not tell.
        version: Its version there.
    """

    id: int
    kind: str
    text: str
    subject: str | None = None
    version: int | None = None


def open_registry(conn_id: str, environ: Mapping[str, str] = os.environ) -> SchemaRegistry:
    """The registry of a connection, to be used in a `with` statement.

    Raises:
        ConnectionMissing: the connection is not in the environment.
        RegistrySettingRefused: it is not one of a registry.
    """
    return SchemaRegistry(registry_address(conn_id, connection(conn_id, environ)))


class SchemaRegistry:
    """A registry, asked over one connection for as long as a `with` statement lasts."""

    def __init__(self, address: RegistryAddress) -> None:
        self._url = address.url
        self._client = httpx.Client(auth=address.login, timeout=PATIENCE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def versions(self, subject: str) -> Iterator[RegisteredSchema]:
        """The schemas of a subject, oldest first; none where there is no such subject.

        Raises:
            RegistryUnreachable: it does not answer.
            RegistryRefuses: it does not let this login ask.
        """
        place = f"/subjects/{quote(subject, safe='')}/versions"
        for version in self._ask(place, NO_SUBJECT) or ():
            found = self._ask(f"{place}/{int(version)}", NO_VERSION)
            if found is not None:
                yield self._schema(int(found["id"]), found, (subject, int(version)))

    def schema(self, schema_id: int) -> RegisteredSchema | None:
        """The schema of an id; None where the registry does not know the id.

        Raises:
            RegistryUnreachable: it does not answer.
            RegistryRefuses: it does not let this login ask.
        """
        found = self._ask(f"/schemas/ids/{schema_id}", NO_SCHEMA)
        if found is None:
            return None
        users = self._ask(f"/schemas/ids/{schema_id}/versions", NO_SCHEMA, NO_SUBJECT) or ()
        user = next(((str(one["subject"]), int(one["version"])) for one in users), None)
        return self._schema(schema_id, found, user)

    def _schema(
        self, schema_id: int, found: Mapping[str, Any], user: tuple[str, int] | None
    ) -> RegisteredSchema:
        kind, text = str(found.get("schemaType") or AVRO), str(found["schema"])
        references = found.get("references") or []
        if kind == AVRO and references:
            referred = self._referred(references)
            text = _joined(text, {name: json.loads(one) for name, one in referred})
        elif kind == PROTOBUF:
            compiled = self._ask(f"/schemas/ids/{schema_id}{COMPILED}")
            files = {**dict(self._referred(references, COMPILED)), MAIN_FILE: compiled["schema"]}
            text = json.dumps({name: self._descriptor(one) for name, one in files.items()})
        subject, version = user or (None, None)
        return RegisteredSchema(schema_id, kind, text, subject, version)

    def _referred(
        self, references: list[Mapping[str, Any]], form: str = ""
    ) -> Iterator[tuple[str, str]]:
        """Name -> schema of what a schema refers to, and of what that does."""
        for one in references:
            subject = quote(str(one["subject"]), safe="")
            found = self._ask(f"/subjects/{subject}/versions/{int(one['version'])}{form}")
            yield str(one["name"]), str(found["schema"])
            yield from self._referred(found.get("references") or [], form)

    def _descriptor(self, schema: str) -> str:
        """A compiled schema, proved to be one."""
        try:
            b64decode(schema, validate=True)
        except ValueError:
            raise self._refuses(f"it does not know {COMPILED} of Protobuf schemas") from None
        return schema

    def _ask(self, path: str, *absent: int) -> Any:
        """The answer to a question; None where the registry answers with one of the codes."""
        try:
            answer = self._client.get(f"{self._url}{path}")
        except httpx.InvalidURL:
            raise self._refuses("the address cannot be understood") from None
        except httpx.HTTPError as error:
            raise self._unreachable(str(error) or type(error).__name__) from error
        if answer.status_code == httpx.codes.TOO_MANY_REQUESTS or answer.is_server_error:
            raise self._unreachable(f"it answers {answer.status_code}")
        try:
            found = answer.json()
        except ValueError:
            raise self._refuses(f"it answers {answer.status_code} without JSON") from None
        if answer.is_success:
            return found
        code = found.get("error_code") if isinstance(found, dict) else None
        if code in absent:
            return None
        said = found.get("message", "") if isinstance(found, dict) else ""
        raise self._refuses(f"it answers {answer.status_code} to {path} ({str(said)[:200]})")

    def _unreachable(self, reason: str) -> RegistryUnreachable:
        return RegistryUnreachable(
            f"The schema registry at {self._url} does not answer: {reason}.",
            remedy="Start it, or correct its connection; the next try carries on.",
            url=self._url,
            reason=reason,
        )

    def _refuses(self, reason: str) -> RegistryRefuses:
        return RegistryRefuses(
            f"The schema registry at {self._url} cannot be asked: {reason}.",
            remedy="Correct the address or the login in the connection that value.registry names.",
            url=self._url,
            reason=reason,
        )


def _joined(text: str, referred: Mapping[str, Any]) -> str:
    """A schema with the definition of each type at its first mention, as Avro's parsers take it."""

    class Referred(AbstractSchemaRepository):
        def load(self, name: str) -> Any:
            return json.loads(text) if name == ROOT else referred[name]

    whole = load_schema(ROOT, repo=Referred())
    if isinstance(whole, dict):
        whole = {name: value for name, value in whole.items() if not name.startswith("__")}
    return json.dumps(whole)
