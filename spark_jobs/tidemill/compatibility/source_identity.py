"""Whether a pipeline's sources are still the ones that its generation read."""

from collections.abc import Sequence

from tidemill.compatibility.binding_rules import returned, sentences, source_changes
from tidemill.compatibility.change import Change, Judge
from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.ledger.batch import Batch
from tidemill.ledger.past_batches import unsettled
from tidemill.ledger.source_record import source_as_born, source_today
from tidemill.spec.spec import Spec


class SourceChanged(Refused):
    """A source's kind or event time is another than when it was first read; carries `source`."""


class SourceReturned(Refused):
    """A source was dropped and is back under its old name; carries `source`."""


def verify_sources(layout: Layout, generation: str, spec: Spec, batches: Sequence[Batch]) -> None:
    """Compare the spec's sources with those that were read.

    Raises:
        SourceChanged: rows of one source would mean something else than before.
        SourceReturned: rows of one source would be read again.
    """
    for name in spec.sources:
        born = source_as_born(layout, generation, name)
        if born is None:
            continue
        today = source_today(spec, name)
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
    """The changes of a source since it was first read that its generation does not survive."""
    born, today = source_as_born(layout, generation, name), source_today(spec, name)
    if born is None:
        return []
    # The settings that bind a source do not depend on the class.
    judge = Judge(layout.name, PipelineClass.MAP, published=spec.published)
    identity = (born.kind, born.event_time), (today.kind, today.event_time)
    changes = source_changes(judge, name, *identity)
    if batches and not batches[-1].offsets.get(name) and _was_read(name, batches):
        changes.append(returned(judge, name))
    return changes


def _was_read(name: str, batches: Sequence[Batch]) -> bool:
    settled, rest = unsettled(batches)
    before = settled and settled.sources.get(name)
    return bool(before and before.read) or any(batch.offsets.get(name) for batch in rest)
