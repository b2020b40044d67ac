"""What a generation knows of each of its sources: put down once, when the source is first read.

A source may be added to a query and dropped from it (Spark's source evolution, by name). Dropped
and added again under its old name, Spark would read its whole log anew (Spark 4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from tidemill.compatibility.binding_rules import returned, sentences, source_changes
from tidemill.compatibility.change import Change, Judge
from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.spec.spec import Spec
from tidemill.storage import documents

if TYPE_CHECKING:
    from tidemill.ledger.ledger import Batch


class SourceChanged(Refused):
    """A source's kind or event time is another than when it was first read; carries `source`."""


class SourceReturned(Refused):
    """A source was dropped and is back under its old name; carries `source`."""


class BoundSource(BaseModel):
    """A source as it was when it was first read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: str
    event_time: str | None


def bind_sources(layout: Layout, generation: str, spec: Spec) -> None:
    """Put down what is known of sources that were never read before; under the lease."""
    for name in spec.sources:
        path = layout.ledger(generation) / "sources" / f"{name}.json"
        documents.put_if_absent(path, _today(spec, name))


def kafka_sources(layout: Layout, generation: str) -> set[str]:
    """The sources whose positions are offsets of topics."""
    paths = sorted((layout.ledger(generation) / "sources").glob("*.json"))
    found = (documents.read(path, BoundSource) for path in paths)
    return {one.name for one in found if one is not None and one.kind == "kafka"}


def prove_sources(layout: Layout, generation: str, spec: Spec, batches: Sequence[Batch]) -> None:
    """Compare the spec's sources with those that were read.

    Args:
        layout: Of the pipeline.
        generation: Such as `live-0001`.
        spec: Today's.
        batches: All of the generation, in order.

    Raises:
        SourceChanged: rows of one source would mean something else than before.
        SourceReturned: rows of one source would be read again.
    """
    for name in spec.sources:
        born = _born(layout, generation, name)
        if born is None:
            continue
        today = _today(spec, name)
        changes = bound_source_changes(layout, generation, spec, name, batches)
        if changes:
            error = SourceChanged if born != today else SourceReturned
            raise error(
                f"{sentences(changes)}.",
                remedy=f"{changes[0].remedy}.",
                source=name,
                born=born.model_dump(),
                today=today.model_dump(),
            )


def bound_source_changes(
    layout: Layout, generation: str, spec: Spec, name: str, batches: Sequence[Batch]
) -> list[Change]:
    """What has changed of a source since it was first read that may not; as for `prove_sources`."""
    born, today = _born(layout, generation, name), _today(spec, name)
    if born is None:
        return []
    # Of what binds a source nothing depends on the class.
    judge = Judge(layout.name, PipelineClass.MAP, published=spec.published)
    identity = (born.kind, born.event_time), (today.kind, today.event_time)
    changes = source_changes(judge, name, *identity)
    if batches and not batches[-1].offsets.get(name) and _was_read(name, batches):
        changes.append(returned(judge, name))
    return changes


def _born(layout: Layout, generation: str, name: str) -> BoundSource | None:
    return documents.read(layout.ledger(generation) / "sources" / f"{name}.json", BoundSource)


def _today(spec: Spec, name: str) -> BoundSource:
    time = spec.event_time_of(name)
    kind = spec.sources[name].kind
    return BoundSource(name=name, kind=kind, event_time=time.column if time else None)


def _was_read(name: str, batches: Sequence[Batch]) -> bool:
    return any(batch.offsets.get(name) for batch in batches)
