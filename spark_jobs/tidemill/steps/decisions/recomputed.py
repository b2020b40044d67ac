"""Seals recomputed rows as an increment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidemill.contract.errors import Refused
from tidemill.increments.increments import Increments, Sealed, hash_of_files
from tidemill.journal.journal import Event, Journal
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.run_increment import read_run_increment, remember, remember_instead
from tidemill.publish.delta.position import lineage
from tidemill.publish.swap_support import refuse_repeated_keys
from tidemill.spec.pipeline import Pipeline
from tidemill.storage import documents
from tidemill.storage.run_context import LeasedRun, RunContext

if TYPE_CHECKING:
    from tidemill.engine.recompute.recompute import Recomputed


class NothingPublished(Refused):
    """Nothing is published yet, so there is nothing to compute again; carries `pipeline`."""


@contextmanager
def leased(run: RunContext, step: str) -> Iterator[LeasedRun]:
    """The lease: the one that the caller holds already, or one for as long as this lasts.

    Args:
        lease: The caller's lease; None where it holds none.
        step: That writes.
    """
    if isinstance(run, LeasedRun):
        yield run
        return
    with run.hold(step) as held:
        yield held


def last_published(pipeline: Pipeline, generation: str) -> Event:
    """The event that holds the last published batch of a generation.

    Raises:
        NothingPublished: there is none.
    """
    events = Journal(pipeline.layout.journal).events()
    # For a fork without a publication, it is one of the generations before it.
    names = lineage(pipeline.layout, generation)
    each = ([e for e in events if e.generation == name and e.kind != "swap"] for name in names)
    found = next(filter(None, each), None)
    if found is None:
        raise NothingPublished(
            f"Nothing of {pipeline.name} is published yet, so there is nothing to compute again.",
            remedy=f"Run it first: tidemill run {pipeline.name}.",
            pipeline=pipeline.name,
        )
    return max(found, key=lambda event: event.last)


def last_event(pipeline: Pipeline) -> int:
    """The number of the journal's last event, 0 for none."""
    folder = pipeline.layout.journal
    return max((number for number, _ in documents.numbered(folder)), default=0)


def seal_recomputed(run: LeasedRun, found: Recomputed) -> int:
    """Seal what was computed again, and remember it for the run.

    Args:
        run: That computed it.
        found: What it computed.
        lease: Held by the caller.

    Returns:
        The increment's number.

    Raises:
        KeyRepeated: a target with keys could not take the rows.
    """
    layout, place = run.pipeline.layout, found.place
    increments = Increments(layout.increments)
    lost = read_run_increment(layout.run(run.run_id))
    supersedes = (*found.recomputation.supersedes, *(() if lost is None else (lost,)))
    batches = Ledger(layout, place.generation).batches(place.first, place.last)
    number = max(increments.numbers(), default=0) + 1
    sealed = Sealed(
        increment=number,
        generation=place.generation,
        first=place.first,
        last=place.last,
        files=sum(len(batch.outputs) for batch in batches),
        files_hash=hash_of_files(batches),
        rows=found.rows,
        rejected=found.rejected,
        recomputation=found.recomputation.model_copy(update={"supersedes": supersedes}),
        run_id=run.run_id,
        sealed=run.clock(),
        epoch=run.epoch,
    )
    refuse_repeated_keys(run.pipeline, sealed)
    run.lease.check()
    increments.seal(sealed)
    note(run, number)
    return number


def note(run: RunContext, number: int) -> None:
    """Remember an increment as the run's own, in the place of one that it had."""
    folder = run.pipeline.layout.run(run.run_id)
    own = read_run_increment(folder)
    if own is None:
        remember(folder, number)
    elif own != number:
        remember_instead(folder, number)
