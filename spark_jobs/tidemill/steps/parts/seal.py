"""Seals batches into an increment, which is judged and published as one and never cut again."""

from collections.abc import Sequence
from pathlib import Path

from tidemill.increments.increments import NetFile, Sealed, hash_of_files
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.recomputation import Recomputation
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.batch import Batch
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.ledger import Ledger
from tidemill.publish.net_payload import write_net_payload
from tidemill.spec.output import OutputMode
from tidemill.storage.run_context import LeasedRun


def seal(run: LeasedRun, snapshot: Snapshot) -> int | None:
    """Seal all batches that are committed and not sealed; the increment's number, None for nothing.

    Args:
        snapshot: Read under the lease.
    """
    ledger = Ledger(run.layout, generation_of(run.pipeline))
    batches = ledger.batches(first=snapshot.last_sealed(ledger.generation) + 1)
    return seal_batches(run, snapshot, batches) if batches else None


def seal_batches(
    run: LeasedRun,
    snapshot: Snapshot,
    batches: list[Batch],
    recomputation: Recomputation | None = None,
) -> int:
    """Seal some batches as one increment.

    Args:
        run: A run of the pipeline with the generation of the batches.
        snapshot: Read under the lease.
        recomputation: The recomputation that the batches hold; None for live batches.

    Returns:
        The number of the new increment.
    """
    ledger = Ledger(run.layout, generation_of(run.pipeline))
    number = snapshot.store.next_number()
    net = _net(run, ledger, batches, snapshot.store.folder_of(number))
    sealed = sealed_set(
        run, number, ledger.generation, batches, net=net, recomputation=recomputation
    )
    # Another gate may have sealed them meanwhile: a writer that lost the lease must not.
    run.lease.check()
    snapshot.seal(sealed)
    return number


def sealed_set(
    run: LeasedRun,
    number: int,
    generation: str,
    batches: Sequence[Batch],
    *,
    net: tuple[NetFile, ...] | None = None,
    recomputation: Recomputation | None = None,
) -> Sealed:
    """The document that seals some batches of a generation as increment `number`.

    Args:
        net: The files that the rows of the batches were merged into; None where rows are appended.
        recomputation: The recomputation that the batches hold; None for live batches.
    """
    return Sealed(
        increment=number,
        generation=generation,
        first=batches[0].batch,
        last=batches[-1].batch,
        files=sum(len(batch.outputs) for batch in batches) if net is None else len(net),
        files_hash=hash_of_files(batches, net),
        rows=sum(one.rows for one in (batches if net is None else net)),
        rejected=sum(batch.rejected for batch in batches),
        net=net,
        recomputation=recomputation,
        run_id=run.run_id,
        sealed=run.clock(),
        epoch=run.epoch,
    )


def _net(
    run: LeasedRun, ledger: Ledger, batches: list[Batch], folder: Path
) -> tuple[NetFile, ...] | None:
    """The net rows of batches, if later ones replace rows of earlier ones."""
    output = run.pipeline.spec.output
    note = read_note(run.layout, ledger.generation)
    # As the batches were written, should the spec have changed since; a preview has no note.
    mode = output.mode if note is None else note.mode
    if mode is OutputMode.APPEND:
        return None
    return write_net_payload(
        ledger,
        batches,
        folder,
        mode=mode,
        keys=output.keys if note is None else note.keys,
        partition_by=tuple(output.partition_by if note is None else note.partition_by),
        epoch=run.epoch,
    )
