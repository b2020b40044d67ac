"""Rolls a pipeline over into a new generation, once everything is published."""

from tidemill.contract.errors import Refused
from tidemill.generations.generation import Generation
from tidemill.generations.rollover import build_rollover, past_limit
from tidemill.generations.verify import open_generation
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import Takeover, put_takeover
from tidemill.ledger.ledger import Ledger
from tidemill.storage.run_context import LeasedRun

# Who is named as the one that decided on it.
BY = "tidemill"


def roll_over(run: LeasedRun, snapshot: Snapshot) -> Takeover | None:
    """Let a new generation go on where the live one is past the limits that the spec gives.

    Only where each batch is published to every target, and none is planned: the new generation then
    begins exactly there. A process that is killed before the last write leaves files that nothing
    names.

    Args:
        snapshot: As it is after a publish under the lease.

    Returns:
        None where no rollover is due, or something waits.
    """
    pipeline = run.pipeline
    if pipeline.generation is not None or not pipeline.spec.published:
        return None
    name = snapshot.generation
    last = snapshot.last_published(name)
    reason = past_limit(pipeline, name, last)
    if reason is None or _waits(run, snapshot, last):
        return None
    try:
        generation = open_generation(pipeline, name)
        if not _stands_at(generation, last):
            return None
        built = build_rollover(pipeline, generation)
        # Proved before it is live: afterwards there is no way back.
        open_generation(pipeline, built)
    except Refused as error:
        run.log(f"warning: {name} is not rolled over: {error}")
        return None
    takeover = Takeover(
        generation=built,
        kind="rollover",
        predecessor=name,
        first=last + 1,
        by=BY,
        reason=reason,
        born=run.clock(),
        epoch=run.epoch,
        after=snapshot.last_seq,
    )
    run.lease.check()
    put_takeover(run.layout, takeover)
    snapshot.read()
    run.log(f"{built} goes on from batch {last + 1} of {name}, as {reason}")
    return takeover


def _waits(run: LeasedRun, snapshot: Snapshot, last: int) -> bool:
    """Whether anything of the live generation is still to be sealed, judged or applied."""
    gone_out = snapshot.event_of
    targets = [target.name for target in run.pipeline.spec.publish]
    return (
        last < 0
        or Ledger(run.layout, snapshot.generation).latest() != last
        or any(one.number not in gone_out and not one.state.closed for one in snapshot.increments)
        or any(snapshot.journal.behind(target) for target in targets)
    )


def _stands_at(generation: Generation, last: int) -> bool:
    """Whether a generation has committed a batch, and has planned and written no other."""
    note = generation.note
    at = (generation.planned, generation.committed, generation.written)
    return note is not None and not note.continuous and at == (last,) * 3 and not generation.flush
