"""Seals batches into an increment, which is judged and published as one."""

from __future__ import annotations

from pathlib import Path

from tidemill.increments.increments import Increments, NetFile, Sealed, hash_of_files
from tidemill.journal.recomputation import Recomputation
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.batch import Batch
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.ledger import Ledger
from tidemill.publish.net_payload import write_net_payload
from tidemill.spec.output import OutputMode
from tidemill.storage.run_context import LeasedRun


def seal(run: LeasedRun) -> int | None:
    """Seal everything committed and not yet sealed; the increment's number, None for nothing."""
    increments = Increments(run.layout.increments)
    ledger = Ledger(run.layout, generation_of(run.pipeline))
    batches = ledger.batches(first=increments.last_sealed(ledger.generation) + 1)
    return seal_batches(run, batches) if batches else None


def seal_batches(
    run: LeasedRun, batches: list[Batch], recomputation: Recomputation | None = None
) -> int:
    """Seal some batches as one increment.

    Args:
        batches: In order; at least one.
        recomputation: What they stand for, where that is not themselves.

    Returns:
        The number of the new increment.
    """
    increments = Increments(run.layout.increments)
    ledger = Ledger(run.layout, generation_of(run.pipeline))
    number = max(increments.numbers(), default=0) + 1
    net = _net(run, ledger, batches, increments.folder_of(number))
    # Between two looks another gate may have sealed them: whoever lost the lease must not.
    run.lease.check()
    increments.seal(
        Sealed(
            increment=number,
            generation=ledger.generation,
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
    )
    return number


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
