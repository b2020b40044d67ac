"""Describes recomputations, and seals their rows as an increment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidemill.contract.errors import Refused, TransientError
from tidemill.contract.layout import Layout
from tidemill.increments.increments import Increments
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.partition_set import Partitions
from tidemill.journal.recomputation import BatchRange, Recomputation
from tidemill.ledger.generation_note import hash_of_file, hash_of_spec
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.run_increment import read_run_increment, remember, remember_instead
from tidemill.ledger.run_kinds import RecomputationKind
from tidemill.ledger.run_request import RunRequest
from tidemill.publish.swap_support import refuse_repeated_keys
from tidemill.sources.probe import versions_read_again
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.parts.seal import sealed_set
from tidemill.storage.erasures import newest_erasure
from tidemill.storage.folders import remove_folder
from tidemill.storage.run_context import LeasedRun, RunContext

if TYPE_CHECKING:
    from tidemill.engine.recompute.recompute import Recomputed


class NothingPublished(Refused):
    """Nothing is published yet, so there is nothing to compute again; carries `pipeline`."""


class ErasedMeanwhile(TransientError):
    """Rows were erased while a recomputation read their input; carries `pipeline`, `erasure`."""


@contextmanager
def leased(run: RunContext, step: str) -> Iterator[LeasedRun]:
    """The lease: the one that the caller holds already, or one for as long as this lasts.

    Args:
        lease: The caller's lease; None where it holds none.
    """
    if isinstance(run, LeasedRun):
        yield run
        return
    with run.hold(step) as held:
        yield held


def verify_published(snapshot: Snapshot, generation: str) -> int:
    """The last published batch of a generation, or of the one that it was forked from.

    Raises:
        NothingPublished: there is none.
    """
    last, name = snapshot.last_published(generation), snapshot.layout.name
    if last < 0:
        raise NothingPublished(
            f"Nothing of {name} is published yet, so there is nothing to compute again.",
            remedy=f"Run it first: tidemill run {name}.",
            pipeline=name,
        )
    return last


def describe(
    pipeline: Pipeline,
    request: RunRequest,
    kind: RecomputationKind,
    batches: BatchRange,
    seq: int,
    *,
    partitions: Partitions | None = None,
    supersedes: Sequence[int] = (),
    reinstates: Sequence[int] = (),
    excludes: Sequence[InputFile] = (),
) -> Recomputation:
    """Describe a recomputation that a person asked for, with today's spec and code.

    Args:
        request: Who asked, and why.
        batches: The live batches that it covers.
        seq: The last event of the journal when these were decided on.
        partitions: The partitions that it replaces; None where it replaces nothing.
        supersedes: The increments that it replaces.
        reinstates: The rejected increments whose input counts again.
        excludes: The files that no longer count.
    """
    return Recomputation(
        kind=kind,
        generation=batches.generation,
        first=batches.first,
        last=batches.last,
        seq=seq,
        partitions=partitions,
        code_hash=hash_of_file(pipeline.transform_file),
        spec_hash=hash_of_spec(pipeline.spec),
        by=request.by,
        os_user=request.os_user,
        reason=request.reason,
        supersedes=tuple(supersedes),
        reinstates=tuple(reinstates),
        excludes=tuple(excludes),
        tables=versions_read_again(pipeline, batches),
    )


def seal_recomputed(run: LeasedRun, found: Recomputed) -> int:
    """Seal what was computed again, and remember it for the run.

    Args:
        found: The rows that the run computed.

    Returns:
        The increment's number.

    Raises:
        KeyRepeated: a target with keys could not take the rows.
        ErasedMeanwhile: rows were erased since it began; what it has computed is removed.
    """
    layout, place = run.pipeline.layout, found.place
    _refuse_erased(layout, found)
    store = Increments(layout.increments)
    lost = read_run_increment(layout.run(run.run_id))
    supersedes = (*found.recomputation.supersedes, *(() if lost is None else (lost,)))
    batches = Ledger(layout, place.generation).batches(place.first, place.last)
    recomputation = found.recomputation.model_copy(update={"supersedes": supersedes})
    number = store.next_number()
    sealed = sealed_set(run, number, place.generation, batches, recomputation=recomputation)
    refuse_repeated_keys(run.pipeline, sealed)
    run.lease.check()
    store.seal(sealed)
    note(run, number)
    return number


def _refuse_erased(layout: Layout, found: Recomputed) -> None:
    newest = newest_erasure(layout.home)
    if newest == found.erasure:
        return
    remove_folder(layout.sink(found.place.generation), missing_ok=True)
    raise ErasedMeanwhile(
        f"Rows of {layout.name} were erased (erasure {newest}) while they were computed again.",
        remedy="The next try computes without them.",
        pipeline=layout.name,
        erasure=newest,
    )


def note(run: RunContext, number: int) -> None:
    """Remember an increment as the run's own, in the place of one that it had."""
    folder = run.pipeline.layout.run(run.run_id)
    own = read_run_increment(folder)
    if own is None:
        remember(folder, number)
    elif own != number:
        remember_instead(folder, number)
