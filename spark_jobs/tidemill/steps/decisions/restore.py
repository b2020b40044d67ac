"""Restore: a pipeline goes on from a snapshot of its checkpoint; nothing was published since."""

from dataclasses import dataclass

from tidemill.contract.errors import Refused, UsageError
from tidemill.contract.os_user import os_user
from tidemill.generations.checkpoint_snapshot import (
    CheckpointSnapshot,
    as_generation,
    read_snapshots,
    snapshots_of,
)
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import Takeover
from tidemill.ledger.run_request import RunRequest
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.checks import refuse_missing_reason
from tidemill.steps.decisions.fork import fork_at, refuse_other_state
from tidemill.steps.decisions.release import PATIENCE_SECONDS
from tidemill.steps.decisions.withdraw import withdraw_unpublished
from tidemill.steps.parts.unpublished import unpublished
from tidemill.storage.run_context import RunContext


class SnapshotMissing(UsageError):
    """There is no snapshot of a number; carries `number`."""


class SnapshotPassed(Refused):
    """The pipeline has published since a snapshot, or was taken back; carries `number`."""


@dataclass(frozen=True)
class RestorePlan:
    """What restoring a snapshot would do.

    Args:
        first: The first batch that is run again.
        superseded: The increments whose batches are run again.
    """

    snapshot: CheckpointSnapshot
    first: int
    superseded: tuple[int, ...]

    def phrases(self) -> list[str]:
        """What would be done, as phrases."""
        numbers = ", ".join(f"{number:06d}" for number in self.superseded)
        return [
            f"go on from batch {self.first}, with the checkpoint of snapshot "
            f"{self.snapshot.number}",
            *([f"read the input of increments {numbers} again"] if numbers else []),
        ]


def plan_restore(pipeline: Pipeline, number: int, history: Snapshot) -> RestorePlan:
    """Find out what restoring a snapshot would do; nothing is changed.

    Args:
        number: The number of the snapshot.
        history: The whole history.

    Raises:
        SnapshotMissing: there is no such snapshot.
        SnapshotPassed: something was published since, or the pipeline goes on from another batch.
    """
    layout, name = pipeline.layout, pipeline.name
    taken = next((one for one in read_snapshots(layout) if one.number == number), None)
    if taken is None:
        known = ", ".join(str(one.number) for one in read_snapshots(layout)) or "none"
        raise SnapshotMissing(
            f"{name} has no snapshot {number}; there are: {known}.",
            remedy=f"`tidemill checkpoint show {name}` lists them.",
            number=number,
        )
    last = history.last_published(history.generation)
    if taken not in snapshots_of(layout, last):
        raise SnapshotPassed(
            f"Snapshot {number} of {name} was taken after batch {taken.batch} of "
            f"{taken.generation}; batch {last} of {history.generation} is published.",
            remedy="To take back what was published since: tidemill checkpoint rewind "
            f"{name} --to {taken.run_id} --reason TEXT --apply. It uses the snapshot where Spark "
            "has forgotten that batch.",
            number=number,
        )
    tail = tuple(one.number for one in unpublished(history))
    return RestorePlan(taken, last + 1, tail)


def restore(run: RunContext, number: int, *, by: str, reason: str) -> Takeover:
    """Fork the live generation at its last published batch, with the checkpoint of a snapshot.

    The checkpoint as it is now is not read, and kept.

    Args:
        number: The number of the snapshot.
        reason: Why, for the pipeline's history.

    Raises:
        ReasonMissing: `reason` or `by` is empty.
        LeaseHeld: a step is writing to this pipeline.
        Refused: as `plan_restore`; or today's code cannot go on with the state.
    """
    refuse_missing_reason("restore", by=by, reason=reason)
    request = RunRequest(role="redo", by=by, os_user=os_user(), reason=reason)
    with run.hold("restore", patience=PATIENCE_SECONDS) as held:
        history = Snapshot(run.layout)
        plan = plan_restore(run.pipeline, number, history)
        kept = as_generation(run.layout, plan.snapshot)
        if plan.first:
            refuse_other_state(run.pipeline, kept)
        tail = unpublished(history)
        withdraw_unpublished(held, history, tail, by=by, reason=f"restore: {reason}")
        return fork_at(held, request, history, [kept], plan.first)
