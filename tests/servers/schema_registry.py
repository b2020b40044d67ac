"""A schema registry with Confluent's HTTP interface: subjects, versions, ids, references, logins.

Paths, fields, status codes and error codes are those of the interface's public documentation.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote

import fastavro

from tests.servers.ports import free_ports

USER, PASSWORD = "mill", "a secret of the registry"


class Absent(Exception):
    """What is asked for is not there; carries the registry's error code."""


@dataclass
class SchemaRegistry:
    """A registry; within `up` it answers.

    Args:
        first_id: The id of the first schema.

    Attributes:
        asked: The paths that were asked for, in order.
        status: A status with which it answers everything; None for the real answers.
        compiles: Whether it gives out Protobuf schemas compiled, as older ones do not.
    """

    first_id: int = 1
    asked: list[str] = field(default_factory=list)
    status: int | None = None
    compiles: bool = True
    _port: int = field(default_factory=lambda: free_ports(1)[0])
    _schemas: dict[int, dict[str, Any]] = field(default_factory=dict)
    _compiled: dict[int, dict[str, Any]] = field(default_factory=dict)
    _subjects: dict[str, dict[int, int]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def connection(self) -> str:
        """The Airflow connection to it, as JSON."""
        given = {"conn_type": "http", "host": "127.0.0.1", "port": self._port}
        return json.dumps({**given, "login": USER, "password": PASSWORD})

    def register(
        self,
        subject: str,
        schema: Any,
        *,
        kind: str = "AVRO",
        references: Sequence[tuple[str, str, int]] = (),
        schema_id: int | None = None,
    ) -> int:
        """Register a version of a subject; the schema's id.

        Args:
            schema: Avro as its JSON, Protobuf as a `FileDescriptorProto`.
            references: Name, subject and version of what the schema refers to.
            schema_id: An id that is not the next one.
        """
        found: dict[str, Any] = {"schema": json.dumps(schema) if kind == "AVRO" else str(schema)}
        if kind != "AVRO":
            found["schemaType"] = kind
        if references:
            keys = ("name", "subject", "version")
            found["references"] = [dict(zip(keys, one, strict=True)) for one in references]
        number = schema_id or max(self._schemas, default=self.first_id - 1) + 1
        self._schemas[number] = found
        if kind == "PROTOBUF":
            compiled = schema.SerializeToString()
            self._compiled[number] = {**found, "schema": base64.b64encode(compiled).decode()}
        versions = self._subjects.setdefault(subject, {})
        versions[len(versions) + 1] = number
        return number

    def forget_subject(self, subject: str) -> None:
        """Delete a subject softly: it is not listed, and its ids are still answered."""
        del self._subjects[subject]

    @contextmanager
    def up(self) -> Iterator[SchemaRegistry]:
        """Answer for as long as the `with` statement lasts; afterwards connections are refused."""
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, answer = registry._answer(self.path, self.headers["Authorization"])
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        with ThreadingHTTPServer(("127.0.0.1", self._port), Handler) as listener:
            listener.daemon_threads = True
            Thread(target=listener.serve_forever, daemon=True).start()
            try:
                yield self
            finally:
                listener.shutdown()

    def _answer(self, path: str, login: str | None) -> tuple[int, Any]:
        self.asked.append(path)
        if self.status is not None:
            return self.status, {"error_code": self.status * 100, "message": "not now"}
        if login != f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}":
            return 401, {"error_code": 401, "message": "Unauthorized"}
        try:
            return 200, self._found(path)
        except Absent as absent:
            code = int(str(absent))
            return 404, {"error_code": code, "message": "not found"}

    def _found(self, asked: str) -> Any:
        path, _, query = asked.partition("?")
        compiled = self._compiled if query == "format=serialized" and self.compiles else {}
        schemas = {**self._schemas, **compiled}
        if match := re.fullmatch(r"/subjects/([^/]+)/versions(?:/(\d+))?", path):
            subject = unquote(match[1])
            if subject not in self._subjects:
                raise Absent(40401)
            if match[2] is None:
                return [*self._subjects[subject]]
            version = int(match[2])
            if version not in self._subjects[subject]:
                raise Absent(40402)
            number = self._subjects[subject][version]
            return {"subject": subject, "id": number, "version": version, **schemas[number]}
        if match := re.fullmatch(r"/schemas/ids/(\d+)(/versions)?", path):
            number = int(match[1])
            if number not in self._schemas:
                raise Absent(40403)
            if match[2] is None:
                return schemas[number]
            return [
                {"subject": subject, "version": version}
                for subject, versions in self._subjects.items()
                for version, held in versions.items()
                if held == number
            ]
        raise Absent(404)


def framed(schema_id: int, schema: Any, row: Any) -> bytes:
    """A value as Confluent's serializers write it: zero, the id in four bytes, the data."""
    data = io.BytesIO()
    fastavro.schemaless_writer(data, fastavro.parse_schema(schema), row)
    return b"\0" + schema_id.to_bytes(4, "big") + data.getvalue()
