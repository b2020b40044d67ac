"""The record of each source of a generation, written when the source is first read.

A source may be added to a query and dropped from it (Spark's source evolution, by name). Dropped
and added again under its old name, Spark would read its whole log again (Spark 4.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidemill.contract.document import Document
from tidemill.contract.layout import Layout
from tidemill.spec.spec import Spec
from tidemill.storage import documents

if TYPE_CHECKING:
    pass


class BoundSource(Document):
    """A source as it was when it was first read."""

    name: str
    kind: str
    event_time: str | None


def bind_sources(layout: Layout, generation: str, spec: Spec) -> None:
    """Put down what is known of sources that were never read before; under the lease."""
    for name in spec.sources:
        path = layout.ledger(generation) / "sources" / f"{name}.json"
        documents.put_if_absent(path, source_today(spec, name))


def source_as_born(layout: Layout, generation: str, name: str) -> BoundSource | None:
    return documents.read(layout.ledger(generation) / "sources" / f"{name}.json", BoundSource)


def source_today(spec: Spec, name: str) -> BoundSource:
    time = spec.event_time_of(name)
    kind = spec.sources[name].kind
    return BoundSource(name=name, kind=kind, event_time=time.column if time else None)
