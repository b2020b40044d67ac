"""The writer schemas of framed values, kept for good: what a run decoded can be decoded again.

A frame names its writer's schema by an id. The registry is asked for an id once; what it said is
kept by connection and id, and every later query reads it there, with or without a registry.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tidemill.contract.clock import Clock, wall_clock
from tidemill.contract.document import Document
from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.storage import documents

if TYPE_CHECKING:
    from tidemill.sources.kafka.schema_registry import RegisteredSchema, SchemaRegistry


# As many ids that the registry does not know are not the schema ids of broken records.
MOST_UNKNOWN = 100


class ValuesNotFramed(Refused):
    """Values begin with other bytes than schema ids; carries `conn_id`, the first `schema_ids`."""


class RegistryChanged(Refused):
    """A registry says of an id what it did not say before; carries `schema_id` and `path`."""


class WriterSchema(Document):
    """A schema that values were written with.

    Attributes:
        kind: `AVRO`, `PROTOBUF` or `JSON`; None where the registry did not know the id.
        text: The schema; None where the registry did not know the id.
        subject: A subject of the registry that has it; None where it did not tell.
        version: Its version there.
        kept: When the registry was asked.
    """

    id: int
    kind: str | None
    text: str | None
    subject: str | None = None
    version: int | None = None
    kept: datetime


class WriterSchemas:
    """The kept schemas of one registry, of one pipeline.

    Args:
        conn_id: The registry's connection.
    """

    def __init__(self, layout: Layout, conn_id: str, clock: Clock = wall_clock) -> None:
        self._folder = layout.writer_schemas(conn_id)
        self._conn_id = conn_id
        self._clock = clock

    def kept(self) -> dict[int, WriterSchema]:
        """Id -> what the registry said of it, also that it did not know it."""
        found = (documents.read(path, WriterSchema) for _, path in documents.numbered(self._folder))
        return {one.id: one for one in found if one is not None}

    def follow(self, registry: SchemaRegistry, subjects: Iterable[str]) -> None:
        """Keep every schema of some subjects, and see whether ids are what they were.

        Raises:
            RegistryChanged: an id is another schema's now, or one that the registry did not know.
            RegistryUnreachable: it does not answer.
            RegistryRefuses: it does not let this login ask.
        """
        kept = self.kept()
        for subject in subjects:
            for found in registry.versions(subject):
                self._keep(found, kept)
        for number in (n for n, one in kept.items() if one.text is None):
            if (found_now := registry.schema(number)) is not None:
                self._keep(found_now, kept)

    def ask(self, registry: SchemaRegistry, ids: Iterable[int]) -> None:
        """Keep what the registry says of some ids, also that it does not know one.

        Raises:
            ValuesNotFramed: it knows none of very many.
            RegistryUnreachable: it does not answer.
            RegistryRefuses: it does not let this login ask.
        """
        answers = {number: registry.schema(number) for number in sorted({*ids})}
        if len(answers) >= MOST_UNKNOWN and not any(answers.values()):
            first = [*answers][:5]
            raise ValuesNotFramed(
                f"The registry of connection '{self._conn_id}' knows none of {len(answers)} schema "
                f"ids that values begin with, such as {', '.join(map(str, first))}.",
                remedy="If the values are plain Avro, remove value.registry and give value.schema "
                "the writer's schema; if they are of another registry, correct its connection.",
                conn_id=self._conn_id,
                schema_ids=first,
            )
        for number, found in answers.items():
            self._put(number, found)

    def _keep(self, found: RegisteredSchema, kept: Mapping[int, WriterSchema]) -> None:
        known = kept.get(found.id)
        if known is None:
            self._put(found.id, found)
        elif known.text is None or _content(known.kind, known.text) != _content(
            found.kind, found.text
        ):
            path = self._place(found.id)
            was = "did not know it" if known.text is None else "had another schema for it"
            raise RegistryChanged(
                f"The schema registry of connection '{self._conn_id}' has a schema for the id "
                f"{found.id}, and {was} when {path} was written. Rows of this id would be decoded "
                "in two ways.",
                remedy="If the registry was set up again, restore its ids from a backup. Otherwise "
                "give value.registry a connection of another name with the same address: its "
                "schemas are kept apart, and recomputations tell the rows that move.",
                schema_id=found.id,
                path=path,
            )

    def _put(self, number: int, found: RegisteredSchema | None) -> None:
        document = WriterSchema(
            id=number,
            kind=found.kind if found else None,
            text=found.text if found else None,
            subject=found.subject if found else None,
            version=found.version if found else None,
            kept=self._clock(),
        )
        documents.put_if_absent(self._place(number), document)

    def _place(self, number: int) -> Path:
        return self._folder / f"{number}.json"


def _content(kind: str | None, text: str) -> object:
    """A schema without the blanks between its parts."""
    return json.loads(text) if kind == "AVRO" else (kind, text)


def subjects_of(topics: Iterable[str]) -> tuple[str, ...]:
    """The subjects that producers give the values of topics, unless they are told otherwise."""
    return tuple(f"{topic}-value" for topic in topics)
